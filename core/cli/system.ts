import { Argument, type Command } from 'commander';
import type { Lockable } from '../contract/model.ts';
import { LOCKABLE } from '../control/account-commands.ts';
import { JSON_OPTION, type Output, perform, print, settingsOf } from './in-process.ts';

/** `system`: an operator's commands for the whole server. */
export function addSystem(program: Command): void {
  const system = program
    .command('system')
    .description('settings of the server itself')
    .addHelpText('after', '\nExample: earshot system rotate-keys');
  addRotateKeys(system);
  addMemoryAccess(system);
  addLock(system, 'lock', 'hide a memory, a conversation or an action item, and prevent changes');
  addLock(system, 'unlock', 'show a locked memory, conversation or action item again, and allow changes');
}

function addRotateKeys(system: Command): void {
  system
    .command('rotate-keys')
    .description('sign new ID tokens with a new key; existing tokens stay valid until they expire')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot system rotate-keys')
    .action(async ({ json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'system.rotateKeys', {});
      print(json, answer, 'ID tokens are signed with a new key.');
    });
}

function addMemoryAccess(system: Command): void {
  system
    .command('memory-access')
    .addArgument(new Argument('<user>', 'an account'))
    .addArgument(new Argument('<state>', 'whether programs may read its memories').choices(['on', 'off']))
    .description('allow or forbid programs to read the memories of an account')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot system memory-access ada off')
    .action(async (user: string, state: string, { json }: Output, command: Command) => {
      const isOpen = state === 'on';
      const answer = await perform(await settingsOf(command), 'system.memoryAccess', { user, isOpen });
      print(json, answer, `Programs ${isOpen ? 'can' : 'cannot'} read the memories of ${answer.user}.`);
    });
}

function addLock(system: Command, verb: 'lock' | 'unlock', description: string): void {
  system
    .command(verb)
    .addArgument(new Argument('<kind>', 'what it is').choices(LOCKABLE))
    .argument('<id>', 'its id')
    .description(description)
    .addOption(JSON_OPTION)
    .addHelpText('after', `\nExample: earshot system ${verb} memory 0199c0de-0000-7000-8000-000000000001`)
    .action(async (kind: Lockable, id: string, { json }: Output, command: Command) => {
      const locked = verb === 'lock';
      const answer = await perform(await settingsOf(command), 'system.lock', { kind, id, locked });
      print(json, answer, `The ${kind} of ${answer.user} is ${verb}ed.`);
    });
}
