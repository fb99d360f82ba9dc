import type { Command } from 'commander';
import type { Result } from '../control/commands.ts';
import { addressOf, placeOf } from './address-fields.ts';
import { JSON_OPTION, type Output, perform, print, settingsOf } from './in-process.ts';
import { readSecret } from './secret-input.ts';
import { table } from './table.ts';

/**
 * `notify channels`, `add`, `list`, `test`, `enable`, `disable` and `remove`: addresses for an account's
 * notifications.
 */
export function addNotify(program: Command): void {
  const notify = program
    .command('notify')
    .description('notifications: the addresses of an account')
    .addHelpText('after', '\nExample: earshot notify channels');
  addChannels(notify);
  addAdd(notify);
  addList(notify);
  addTest(notify);
  addSwitch(notify, 'enable', 'enable an address, also one that the server has disabled');
  addSwitch(notify, 'disable', 'disable an address without removing it');
  addRemove(notify);
}

function addChannels(notify: Command): void {
  notify
    .command('channels')
    .description('list the channels and the fields of their addresses')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot notify channels')
    .action(async ({ json }: Output, command: Command) => {
      const channels = await perform(await settingsOf(command), 'notify.channels', {});
      print(json, { channels }, channels.flatMap(described).join('\n') || 'No channel is loaded.');
    });
}

function described({ channel, title, address }: Result<'notify.channels'>[number]): string[] {
  const { properties = {}, required = [] } = address as {
    properties?: Record<string, { description?: string }>;
    required?: string[];
  };
  const fields = Object.entries(properties).map(([field, { description }]) => {
    const lack = required.includes(field) ? '' : ' (optional)';
    return `    ${field}${lack}${description === undefined ? '' : `: ${description}`}`;
  });
  return [`${channel}  ${title}`, ...fields];
}

function addAdd(notify: Command): void {
  notify
    .command('add <user> <channel> [fields...]')
    .description('add an address for the notifications of an account; each field as name=text, or name:=JSON')
    .option('--label <label>', 'label in lists')
    .option('--secret <field>', 'field that is typed hidden, or piped in')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot notify add ada ntfy topic=ada-8k2 --secret token')
    .action(
      async (user: string, channel: string, fields: string[], options: AddOptions, command: Command) => {
        const { json, label, secret } = options;
        const settings = await settingsOf(command);
        const address = addressOf(fields);
        if (secret !== undefined) address[secret] = await readSecret(secret);
        const added = await perform(settings, 'notify.add', { user, channel, label, address });
        print(json, added, `Added ${added.id}. Try it: earshot notify test ${user} ${added.id}`);
      },
    );
}
interface AddOptions extends Output {
  label?: string;
  secret?: string;
}

function addList(notify: Command): void {
  notify
    .command('list <user>')
    .description('list the notification addresses of an account, oldest first')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot notify list ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const addresses = await perform(await settingsOf(command), 'notify.list', { user });
      const rows = addresses.map(({ id, channel, label, enabled, offReason, ...where }) => [
        ...[id, channel, enabled ? 'on' : `off${offReason === null ? '' : `: ${offReason}`}`, label],
        placeOf(where).join('  '),
      ]);
      const words = table(['id', 'channel', 'state', 'label', 'address'], rows);
      const none = `There is no address yet: earshot notify add ${user} <channel>`;
      print(json, { addresses }, addresses.length === 0 ? none : words);
    });
}

function addTest(notify: Command): void {
  notify
    .command('test <user> <id>')
    .description('send a test notification to an address')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot notify test ada 0190c9f2-1111-7000-8000-000000000001')
    .action(async (user: string, id: string, { json }: Output, command: Command) => {
      const { error } = await perform(await settingsOf(command), 'notify.test', { user, id });
      if (error !== null) throw new Error(`It was not sent: ${error}`);
      print(json, { sent: true }, 'Sent.');
    });
}

function addSwitch(notify: Command, verb: 'enable' | 'disable', description: string): void {
  notify
    .command(`${verb} <user> <id>`)
    .description(description)
    .addOption(JSON_OPTION)
    .addHelpText('after', `\nExample: earshot notify ${verb} ada 0190c9f2-1111-7000-8000-000000000001`)
    .action(async (user: string, id: string, { json }: Output, command: Command) => {
      const enabled = verb === 'enable';
      const answer = await perform(await settingsOf(command), 'notify.enable', { user, id, enabled });
      print(json, answer, `${answer.label} (${answer.id}) is ${enabled ? 'enabled' : 'disabled'}.`);
    });
}

function addRemove(notify: Command): void {
  notify
    .command('remove <user> <id>')
    .description('remove a notification address')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot notify remove ada 0190c9f2-1111-7000-8000-000000000001')
    .action(async (user: string, id: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'notify.remove', { user, id });
      print(json, answer, `Removed ${answer.id}.`);
    });
}
