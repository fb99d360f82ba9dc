import type { Command } from 'commander';
import type { Result } from '../control/commands.ts';
import { JSON_OPTION, type Output, perform, print, settingsOf } from './in-process.ts';
import { table } from './table.ts';

type Shown = Result<'hook.list'>[number];

/** `hook`: webhooks, which send events to an account's own programs. */
export function addHookCommands(program: Command): void {
  const hook = program
    .command('hook')
    .description('webhooks: addresses of your own that receive events of an account')
    .addHelpText('after', '\nExample: earshot hook set ada memory_created https://n8n.example.org/in');
  addList(hook);
  addSet(hook);
  addTest(hook);
  addSwitch(hook, 'enable', 'enable a webhook, also one that the server has disabled');
  addSwitch(hook, 'disable', 'disable a webhook; its address is kept');
  addRemove(hook);
}

function addList(hook: Command): void {
  hook
    .command('list <user>')
    .description('list the webhooks of an account and its apps with their state, oldest first')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot hook list ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const hooks = await perform(await settingsOf(command), 'hook.list', { user });
      const rows = hooks.map(each => [each.id, each.type, labelOf(each), placeOf(each), stateOf(each)]);
      const words = table(['id', 'type', 'label', 'address', 'state'], rows);
      const none = `There is no webhook yet: earshot hook set ${user} <type> <url>`;
      print(json, { hooks }, hooks.length === 0 ? none : words);
    });
}

function labelOf({ label, app }: Shown): string {
  if (app !== null) return `app ${app}`;
  return label === '' ? '-' : label;
}

function placeOf({ url, seconds }: Pick<Shown, 'url' | 'seconds'>): string {
  return seconds === null ? url : `${url}, every ${seconds} s`;
}

/** Whether a webhook is sent and, where the server switched it off, why. */
export function stateOf({
  enabled,
  offReason,
  failingSince,
}: Pick<Shown, 'enabled' | 'offReason' | 'failingSince'>): string {
  if (!enabled) return offReason === null ? 'off' : `off: ${offReason}`;
  return failingSince === null ? 'on' : `on, failing since ${failingSince}`;
}

interface SetOptions extends Output {
  label?: string;
}

function addSet(hook: Command): void {
  hook
    .command('set <user> <type> <url>')
    .description(
      'send events of a type (memory_created, transcript_processed, audio_bytes, …) to an address; for audio_bytes, append "," and the seconds per delivery to the address',
    )
    .option(
      '--label <label>',
      'label of an additional address of this type; without it, the default address is set',
    )
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      '\nExample: earshot hook set ada memory_created https://n8n.example.org/in --label n8n',
    )
    .action(async (user: string, type: string, url: string, options: SetOptions, command: Command) => {
      const { json, label } = options;
      const set = await perform(await settingsOf(command), 'hook.set', { user, type, url, label });
      const lines = [
        `id: ${set.id}`,
        ...(set.signingSecret === null
          ? []
          : [`signing secret: ${set.signingSecret} (signs all webhooks of ${user}; shown only once)`]),
        `${set.type} is now sent to ${placeOf(set)}. Try it: earshot hook test ${user} ${set.id}`,
      ];
      print(json, set, lines.join('\n'));
    });
}

function addTest(hook: Command): void {
  hook
    .command('test <user> <webhook>')
    .description('send a sample event to a webhook, named by id, label or type, and show the response')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot hook test ada memory_created')
    .action(async (user: string, webhook: string, { json }: Output, command: Command) => {
      const tested = await perform(await settingsOf(command), 'hook.test', { user, webhook });
      const { type, error, status, answer, enabled, id, tookMs } = tested;
      const said = answer ? `: ${answer}` : '';
      if (error !== null) throw new Error(`The test of ${type} to ${tested.url} failed: ${error}${said}`);
      const lines = [
        `Sent a test of ${type} to ${tested.url}. It answered ${status} in ${tookMs} ms${said}`,
        ...(enabled ? [] : [`It is disabled. Enable it: earshot hook enable ${user} ${id}`]),
      ];
      print(json, tested, lines.join('\n'));
    });
}

function addSwitch(hook: Command, verb: 'enable' | 'disable', description: string): void {
  hook
    .command(`${verb} <user> <webhook>`)
    .description(`${description}; named by id, label or type`)
    .addOption(JSON_OPTION)
    .addHelpText('after', `\nExample: earshot hook ${verb} ada memory_created`)
    .action(async (user: string, webhook: string, { json }: Output, command: Command) => {
      const enabled = verb === 'enable';
      const settings = await settingsOf(command);
      const answer = await perform(settings, 'hook.enable', { user, webhook, enabled });
      print(json, answer, `${answer.type} to ${placeOf(answer)} is ${enabled ? 'enabled' : 'disabled'}.`);
    });
}

function addRemove(hook: Command): void {
  hook
    .command('remove <user> <webhook>')
    .description('remove a webhook, named by id, label or type; pending deliveries are not sent')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot hook remove ada n8n')
    .action(async (user: string, webhook: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'hook.remove', { user, webhook });
      print(json, answer, `Removed ${answer.type} to ${placeOf(answer)} (${answer.id}).`);
    });
}
