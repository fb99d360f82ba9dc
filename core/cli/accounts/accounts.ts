import { Argument, type Command } from 'commander';
import { shellWord } from '../../runtime/terminal.ts';
import { JSON_OPTION, type Output, perform, print, settingsOf } from '../in-process.ts';
import { readSecret } from '../secret-input.ts';
import { table } from '../table.ts';
import { addAccountEnds } from './ends.ts';

/** `user`, `token`, `key`: accounts and their credentials. */
export function addAccountCommands(program: Command): void {
  const user = program
    .command('user')
    .description('accounts: list, add and manage them')
    .addHelpText('after', '\nExample: earshot user add ada');
  addUserAdd(user);
  addUserList(user);
  addUserPassword(user);
  addUserRename(user);
  addUserRole(user);
  addAccountEnds(user);
  addToken(program);
  addKey(program);
}

function addUserAdd(user: Command): void {
  user
    .command('add <name>')
    .description('add an account')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot user add ada')
    .action(async (name: string, { json }: Output, command: Command) => {
      const added = await perform(await settingsOf(command), 'user.add', { name });
      const lines = [
        `Added ${added.name} (${added.id}).`,
        `To sign in, it needs a password: earshot user password ${shellWord(added.name)}`,
      ];
      print(json, added, lines.join('\n'));
    });
}

function addUserList(user: Command): void {
  user
    .command('list')
    .description('list the accounts, oldest first')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot user list --json')
    .action(async ({ json }: Output, command: Command) => {
      const users = await perform(await settingsOf(command), 'user.list', {});
      const rows = users.map(({ id, createdAt, role, disabledAt, name }) => [
        ...[id, createdAt, role, disabledAt ? 'disabled' : 'enabled', name],
      ]);
      const words = table(['id', 'created', 'role', 'state', 'name'], rows);
      print(json, { users }, users.length === 0 ? 'There is no account yet: earshot user add <name>' : words);
    });
}

function addUserPassword(user: Command): void {
  user
    .command('password <name>')
    .description('set the password of an account, typed hidden or piped in; its sessions end')
    .option('--remove', 'remove the password; then only "earshot token" gives access')
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      '\nExample: earshot user password ada\n         earshot user password ada < secret.txt',
    )
    .action(async (name: string, { json, remove }: Output & { remove?: boolean }, command: Command) => {
      const settings = await settingsOf(command);
      const password = remove ? null : await readSecret('password');
      const answer = await perform(settings, 'user.password', { user: name, password });
      print(json, answer, remove ? `${name} no longer has a password.` : `${name} has a new password.`);
    });
}

function addUserRename(user: Command): void {
  user
    .command('rename <name> <new>')
    .description('rename an account; the new name is also used to sign in')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot user rename ada grace')
    .action(async (name: string, wanted: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'user.rename', { user: name, name: wanted });
      print(json, answer, `${name} is now called ${answer.name}.`);
    });
}

function addUserRole(user: Command): void {
  user
    .command('role')
    .argument('<name>', 'an account')
    .addArgument(new Argument('<role>', 'what it may do').choices(['owner', 'operator']))
    .description('set the role of an account: an operator manages all accounts, an owner only their own')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot user role ada operator')
    .action(async (name: string, role: 'owner' | 'operator', { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'user.role', { user: name, role });
      print(json, answer, `${answer.name} is an ${role}.`);
    });
}

function addToken(program: Command): void {
  program
    .command('token <user>')
    .description('issue an ID token, which has all permissions of the account, and print it')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot token ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'token', { user });
      print(json, answer, answer.token);
    });
}

function addKey(program: Command): void {
  const key = program
    .command('key')
    .description('API keys: create one with `key <user> --scopes <list>`; list, rotate, revoke')
    .addHelpText('after', '\nExample: earshot key ada --scopes listen --name pendant');
  addKeyCreate(key);
  addKeyList(key);
  addKeyRotate(key);
  addKeyRevoke(key);
}

function addKeyCreate(key: Command): void {
  key
    .command('create <user>', { isDefault: true })
    .description('create an API key and print it; it is shown only once, and valid until it is revoked')
    .requiredOption(
      '--scopes <list>',
      'permissions: listen, conversations:read, …, comma-separated',
      byCommas,
    )
    .option('--name <name>', 'name shown in lists of keys')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot key create ada --scopes listen --name pendant')
    .action(async (user: string, options: KeyOptions, command: Command) => {
      const { json, scopes, name } = options;
      const answer = await perform(await settingsOf(command), 'key', { user, scopes, name });
      print(json, answer, answer.key);
    });
}
interface KeyOptions extends Output {
  scopes: string[];
  name?: string;
}

function addKeyList(key: Command): void {
  key
    .command('list <user>')
    .description('list the API keys of an account, newest first')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot key list ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const keys = await perform(await settingsOf(command), 'key.list', { user });
      const rows = keys.map(({ id, name, hint, scopes, lastUsedAt }) => [
        ...[id, hint, lastUsedAt ?? 'never', scopes.join(','), name],
      ]);
      const words = table(['id', 'key', 'last used', 'scopes', 'name'], rows);
      const none = `There is no key yet: earshot key ${user} --scopes <list>`;
      print(json, { keys }, keys.length === 0 ? none : words);
    });
}

function addKeyRotate(key: Command): void {
  key
    .command('rotate <user> <key>')
    .description(
      'replace an API key, named by id or name, and print the new one; the old one is refused at once',
    )
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot key rotate ada 0190c9f2-1111-7000-8000-000000000001')
    .action(async (user: string, id: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'key.rotate', { user, id });
      print(json, answer, answer.key);
    });
}

function addKeyRevoke(key: Command): void {
  key
    .command('revoke <user> <key>')
    .description('revoke an API key, named by id or name')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot key revoke ada pendant')
    .action(async (user: string, id: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'key.revoke', { user, id });
      print(json, answer, `Revoked ${answer.name} (${answer.id}).`);
    });
}

function byCommas(text: string): string[] {
  return text.split(',');
}
