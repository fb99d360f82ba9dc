import type { Command } from 'commander';
import { perform, print, settingsOf } from './house.ts';

/** `system`: what the operator does to the whole server. */
export function addSystem(program: Command): void {
  program
    .command('system')
    .description('the server itself')
    .addHelpText('after', '\nExample: earshot system rotate-keys')
    .command('rotate-keys')
    .description(
      'sign ID tokens with a new key from now on; those that there are stay good until they expire',
    )
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot system rotate-keys')
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const answer = await perform(settingsOf(command), 'system.rotateKeys', {});
      print(json, answer, 'ID tokens are signed with a new key.');
    });
}
