import type { Command } from 'commander';
import { stateOf } from './hooks.ts';
import { JSON_OPTION, type Output, perform, print, settingsOf } from './in-process.ts';
import { table } from './table.ts';

const ID = '0199c0de-0000-7000-8000-000000000001';

/** `app`: apps, their secrets, and who has installed them. */
export function addAppCommands(program: Command): void {
  const app = program
    .command('app')
    .description('apps: programs that receive events of the accounts that installed them')
    .addHelpText('after', '\nExample: earshot app create ada "Tea counter" --actions read_conversations');
  addCreate(app);
  addList(app);
  addShow(app);
  addKeys(app);
  addRotate(app);
  addDelete(app);
  addInstall(app);
  addUninstall(app);
}

interface CreateOptions extends Output {
  description?: string;
  webhookUrl?: string;
  setupUrl?: string;
  triggers?: string[];
  actions?: string[];
  scopes?: string[];
}

function addCreate(app: Command): void {
  app
    .command('create <user> <name>')
    .description('create an app owned by an account, and print its secrets; they are shown only once')
    .option('--webhook-url <url>', 'URL that receives its events')
    .option(
      '--triggers <list>',
      'events it receives: memory_created, transcript_processed, …, comma-separated',
      byCommas,
    )
    .option('--actions <list>', 'actions it requests: read_conversations, …, comma-separated', byCommas)
    .option('--scopes <list>', 'data in its prompts: user_name, user_facts, …, comma-separated', byCommas)
    .option(
      '--setup-url <url>',
      'URL that is asked with ?uid= before an installation whether the setup is complete',
    )
    .option('--description <text>', 'what it is for')
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      '\nExample: earshot app create ada "Tea counter" --webhook-url https://tea.example.org/hook --triggers memory_created',
    )
    .action(async (user: string, name: string, options: CreateOptions, command: Command) => {
      const { json, triggers: triggersOn, ...about } = options;
      const answer = await perform(await settingsOf(command), 'app.create', {
        user,
        name,
        ...about,
        triggersOn,
      });
      const lines = [
        `id: ${answer.id}`,
        `secret: ${answer.secret}`,
        ...(answer.signingSecret === null ? [] : [`signing secret: ${answer.signingSecret}`]),
        `Install it for an account: earshot app install <user> ${answer.id}`,
      ];
      print(json, answer, lines.join('\n'));
    });
}

function addList(app: Command): void {
  app
    .command('list [user]')
    .description('list the apps of everyone, or of one account, newest first')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot app list ada')
    .action(async (user: string | undefined, { json }: Output, command: Command) => {
      const apps = await perform(await settingsOf(command), 'app.list', { user });
      const words = table(
        ['id', 'account', 'name'],
        apps.map(each => [each.id, each.owner, each.name]),
      );
      const none = 'There is no app yet: earshot app create <user> <name>';
      print(json, { apps }, apps.length === 0 ? none : words);
    });
}

function addShow(app: Command): void {
  app
    .command('show <app>')
    .description('show an app, named by id or name: its permissions, secrets and the state of its webhooks')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot app show "Tea counter"')
    .action(async (given: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'app.show', { app: given });
      const { name, id, owner, description, webhookUrl, setupUrl, actions, scopes, keys, hooks } = answer;
      const lines = [
        `${name} (${id}), owned by ${owner}`,
        ...(description === '' ? [] : [description]),
        `webhook: ${webhookUrl ?? 'none'}`,
        ...hooks.map(hook => `  ${hook.type}: ${stateOf(hook)}`),
        ...(setupUrl === null ? [] : [`set-up: ${setupUrl}`]),
        `actions: ${actions.join(', ') || 'none'}`,
        `scopes: ${scopes.join(', ') || 'none'}`,
        ...keys.map(key => `secret: ${key.label} (${key.id}), created ${key.createdAt}`),
      ];
      print(json, answer, lines.join('\n'));
    });
}

function addKeys(app: Command): void {
  app
    .command('keys <app>')
    .description('list the secrets of an app, newest first; create or revoke one')
    .option('--new', 'create one and print it; it is shown only once')
    .option('--revoke <id>', 'revoke one, at once and for good')
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      `\nExample: earshot app keys "Tea counter" --new\n         earshot app keys "Tea counter" --revoke ${ID}`,
    )
    .action(async (given: string, options: Output & { new?: boolean; revoke?: string }, command: Command) => {
      const { json, revoke } = options;
      const settings = await settingsOf(command);
      if (revoke !== undefined) {
        const answer = await perform(settings, 'app.keys.revoke', { app: given, id: revoke });
        if (!options.new) return print(json, answer, `Revoked ${answer.id}.`);
      }
      if (options.new) {
        const answer = await perform(settings, 'app.keys.new', { app: given });
        return print(json, answer, answer.secret);
      }
      const keys = await perform(settings, 'app.keys', { app: given });
      const words = table(
        ['id', 'secret', 'created'],
        keys.map(key => [key.id, key.label, key.createdAt]),
      );
      const none = `There is no secret yet: earshot app keys "${given}" --new`;
      print(json, { keys }, keys.length === 0 ? none : words);
    });
}

function addRotate(app: Command): void {
  app
    .command('rotate <app>')
    .description(
      'replace the signing secret of an app and print the new one; the old one also signs for 24 hours',
    )
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot app rotate "Tea counter"')
    .action(async (given: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'app.rotate', { app: given });
      print(json, answer, answer.signingSecret);
    });
}

function addDelete(app: Command): void {
  app
    .command('delete <app>')
    .description('delete an app with its secrets and installations')
    .addOption(JSON_OPTION)
    .addHelpText('after', `\nExample: earshot app delete ${ID}`)
    .action(async (given: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'app.delete', { app: given });
      print(json, answer, `Deleted ${answer.name} (${answer.id}).`);
    });
}

function addInstall(app: Command): void {
  app
    .command('install <user> <app>')
    .description(
      'install an app for an account: it receives events and gets the permissions that it requests',
    )
    .option('--scopes <list>', 'grant only these of the requested data, comma-separated', byCommas)
    .option('--actions <list>', 'grant only these of the requested actions, comma-separated', byCommas)
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot app install ada "Tea counter" --scopes user_name')
    .action(async (user: string, given: string, options: InstallOptions, command: Command) => {
      const { json, scopes, actions } = options;
      const answer = await perform(await settingsOf(command), 'app.install', {
        user,
        app: given,
        scopes,
        actions,
      });
      const lines = [
        `${user} has installed ${answer.name}.`,
        `It receives: ${answer.sent.join(', ') || 'nothing'}${answer.sent.length > 0 ? ` (to ${answer.webhookUrl})` : ''}`,
        `Its prompts may contain: ${answer.scopes.join(', ') || 'nothing'}`,
        `It may: ${answer.actions.join(', ') || 'nothing'}`,
      ];
      print(json, answer, lines.join('\n'));
    });
}
interface InstallOptions extends Output {
  scopes?: string[];
  actions?: string[];
}

function addUninstall(app: Command): void {
  app
    .command('uninstall <user> <app>')
    .description('uninstall an app for an account: it receives no more events and loses its permissions')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot app uninstall ada "Tea counter"')
    .action(async (user: string, given: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'app.uninstall', { user, app: given });
      print(json, answer, `Uninstalled ${answer.name} for ${user}.`);
    });
}

function byCommas(text: string): string[] {
  return text.split(',').filter(name => name.trim() !== '');
}
