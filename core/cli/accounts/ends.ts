import type { Command } from 'commander';
import type { Result } from '../../control/commands.ts';
import { AppError } from '../../runtime/errors.ts';
import { JSON_OPTION, type Output, perform, print, settingsOf } from '../in-process.ts';

/** `user sign-out`, `lost`, `disable`, `enable` and `remove`: commands that end an account or its credentials. */
export function addAccountEnds(user: Command): void {
  addSignOut(user);
  addLost(user);
  addDisable(user);
  addEnable(user);
  addRemove(user);
}

function addSignOut(user: Command): void {
  user
    .command('sign-out <name>')
    .description('revoke all ID tokens of an account, and list credentials that still work')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot user sign-out ada')
    .action(async (name: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'user.signOut', { user: name });
      const head = `${answer.name} is signed out everywhere.`;
      print(json, answer, [head, ...tellEnded(answer), ...tellLeft(answer)].join('\n'));
    });
}

function addLost(user: Command): void {
  user
    .command('lost <name>')
    .description(
      'revoke ID tokens and API keys, and end web push and live connections of an account, after a device was lost or stolen',
    )
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot user lost ada')
    .action(async (name: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'user.lost', { user: name });
      const lines = [
        `${answer.name} is signed out everywhere.`,
        ...tellEnded(answer),
        ...tellLeft(answer),
        `Its password, if it has one, still works. Change it if the device stored it: earshot user password ${answer.name}`,
      ];
      print(json, answer, lines.join('\n'));
    });
}

function tellEnded({ ended }: Result<'user.lost'>): string[] {
  return listed('Ended', [
    ['API keys', ended.keys],
    ['pushes to devices', ended.devices],
    ['live connections', ended.connections.map(device => device ?? 'of a client without a name')],
  ]);
}

function tellLeft({ name, left }: Result<'user.lost'>): string[] {
  return [
    ...listed('Still works', [
      ['API keys', left.keys],
      ['pushes to devices', left.devices],
      ['notifications', left.addresses],
      ['installed apps', left.apps],
      ['webhooks', left.hooks],
    ]),
    ...(left.keys.length === 0
      ? []
      : [`Revoke a key: earshot key revoke ${name} <name>; all keys: earshot user lost ${name}`]),
  ];
}

function listed(head: string, groups: [what: string, names: string[]][]): string[] {
  return groups.flatMap(([what, names]) =>
    names.length === 0 ? [] : [`${head}: ${what}: ${names.join(', ')}`],
  );
}

function addDisable(user: Command): void {
  user
    .command('disable <name>')
    .description('disable an account: all its credentials are refused until it is enabled; its data stays')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot user disable ada')
    .action(async (name: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'user.disable', { user: name });
      const ended = `${answer.connections.length} live connections ended`;
      print(
        json,
        answer,
        `${answer.name} is disabled; ${ended}. Undo it: earshot user enable ${answer.name}`,
      );
    });
}

function addEnable(user: Command): void {
  user
    .command('enable <name>')
    .description('enable a disabled account, with its earlier credentials')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot user enable ada')
    .action(async (name: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'user.enable', { user: name });
      print(json, answer, `${answer.name} is enabled.`);
    });
}

function addRemove(user: Command): void {
  user
    .command('remove <name>')
    .description('delete an account with everything that it owns, for good; backups keep it')
    .option('--yes', 'required, because this cannot be undone')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot user remove ada --yes')
    .action(async (name: string, { json, yes }: Output & { yes?: boolean }, command: Command) => {
      const settings = await settingsOf(command);
      if (!yes)
        throw new AppError(
          'invalid_request',
          `this deletes all conversations, memories, keys and apps of ${name} for good; confirm with --yes`,
        );
      const answer = await perform(settings, 'user.remove', { user: name });
      const left = answer.remains.map(
        ({ what, until }) =>
          `  ${what}, until ${until === null ? 'somebody deletes it' : until.slice(0, 10)}`,
      );
      const elsewhere = left.length === 0 ? '' : `\nIts data is still in:\n${left.join('\n')}`;
      print(json, answer, `Removed ${answer.name} and everything that it owned.${elsewhere}`);
    });
}
