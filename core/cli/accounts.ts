import type { Command } from 'commander';
import { perform, print, settingsOf } from './house.ts';
import { readSecret } from './secret-input.ts';

interface Output {
  json?: boolean;
}

/** `user add`, `list`, `password` and `sign-out`, `token`, `key`: accounts and their credentials. */
export function addAccountCommands(program: Command): void {
  const user = program
    .command('user')
    .description('accounts of this server')
    .addHelpText('after', '\nExample: earshot user add ada');
  addUserAdd(user);
  addUserList(user);
  addUserPassword(user);
  addUserSignOut(user);
  addToken(program);
  addKey(program);
}

function addUserAdd(user: Command): void {
  user
    .command('add <name>')
    .description('add an account')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot user add ada')
    .action(async (name: string, { json }: Output, command: Command) => {
      const added = await perform(settingsOf(command), 'user.add', { name });
      print(json, added, `Added ${added.name} (${added.id}).`);
    });
}

function addUserList(user: Command): void {
  user
    .command('list')
    .description('list the accounts, oldest first')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot user list --json')
    .action(async ({ json }: Output, command: Command) => {
      const users = await perform(settingsOf(command), 'user.list', {});
      const lines = users.map(({ id, name, createdAt }) => `${id}  ${createdAt}  ${name}`);
      print(json, { users }, lines.join('\n') || 'There is no account yet: earshot user add <name>');
    });
}

function addUserPassword(user: Command): void {
  user
    .command('password <name>')
    .description('give an account a password, typed without being shown or piped in; it has to sign in again')
    .option('--remove', 'take it away: only "earshot token" lets that account in then')
    .option('--json', 'answer as one JSON object')
    .addHelpText(
      'after',
      '\nExample: earshot user password ada\n         earshot user password ada < secret.txt',
    )
    .action(async (name: string, { json, remove }: Output & { remove?: boolean }, command: Command) => {
      const settings = settingsOf(command);
      const password = remove ? null : await readSecret('password');
      const answer = await perform(settings, 'user.password', { user: name, password });
      print(json, answer, remove ? `${name} has no password any more.` : `${name} has a new password.`);
    });
}

function addUserSignOut(user: Command): void {
  user
    .command('sign-out <name>')
    .description('end all ID tokens of an account that there are; API keys stay')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot user sign-out ada')
    .action(async (name: string, { json }: Output, command: Command) => {
      const answer = await perform(settingsOf(command), 'user.signOut', { user: name });
      print(json, answer, `${answer.name} is signed out everywhere.`);
    });
}

function addToken(program: Command): void {
  program
    .command('token <user>')
    .description('print a new ID token: everything its owner may do, for one who signs in')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot token ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const answer = await perform(settingsOf(command), 'token', { user });
      print(json, answer, answer.token);
    });
}

function addKey(program: Command): void {
  const key = program
    .command('key')
    .description('API keys: `key <user> --scopes <list>` makes one; list, rotate, revoke')
    .addHelpText('after', '\nExample: earshot key ada --scopes listen --name pendant');
  addKeyCreate(key);
  addKeyList(key);
  addKeyRotate(key);
  addKeyRevoke(key);
}

function addKeyCreate(key: Command): void {
  key
    .command('create <user>', { isDefault: true })
    .description('make an API key and print it: it is shown this once, and lasts until it is revoked')
    .requiredOption('--scopes <list>', 'what it may do: listen, conversations:read, … by commas', byCommas)
    .option('--name <name>', 'what it is for, in lists of keys')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot key create ada --scopes listen --name pendant')
    .action(async (user: string, options: KeyOptions, command: Command) => {
      const { json, scopes, name } = options;
      const answer = await perform(settingsOf(command), 'key', { user, scopes, name });
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
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot key list ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const keys = await perform(settingsOf(command), 'key.list', { user });
      const lines = keys.map(({ id, name, hint, scopes, lastUsedAt }) =>
        [id, hint, lastUsedAt ?? 'never used', scopes.join(','), name].join('  '),
      );
      print(json, { keys }, lines.join('\n') || `There is no key yet: earshot key ${user} --scopes <list>`);
    });
}

function addKeyRotate(key: Command): void {
  key
    .command('rotate <user> <id>')
    .description('print a new API key in the place of an old one, which is refused from now on')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot key rotate ada 0190c9f2-1111-7000-8000-000000000001')
    .action(async (user: string, id: string, { json }: Output, command: Command) => {
      const answer = await perform(settingsOf(command), 'key.rotate', { user, id });
      print(json, answer, answer.key);
    });
}

function addKeyRevoke(key: Command): void {
  key
    .command('revoke <user> <id>')
    .description('remove an API key, at once and for good')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot key revoke ada 0190c9f2-1111-7000-8000-000000000001')
    .action(async (user: string, id: string, { json }: Output, command: Command) => {
      const answer = await perform(settingsOf(command), 'key.revoke', { user, id });
      print(json, answer, `Revoked ${answer.id}.`);
    });
}

function byCommas(text: string): string[] {
  return text.split(',');
}
