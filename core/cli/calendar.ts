import type { Command } from 'commander';
import { perform, print, settingsOf } from './in-process.ts';

interface Output {
  json?: boolean;
}

/** `calendar link` and `unlink`: the secret address by which calendar programs read an account's events and tasks. */
export function addCalendarCommands(program: Command): void {
  const calendar = program
    .command('calendar')
    .description('calendar: subscribe to the events and tasks of an account by a secret link')
    .addHelpText('after', '\nExample: earshot calendar link ada');
  addLink(calendar);
  addUnlink(calendar);
}

function addLink(calendar: Command): void {
  calendar
    .command('link <user>')
    .description('create the secret link of an account; an earlier link is revoked')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot calendar link ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const made = await perform(await settingsOf(command), 'calendar.link', { user });
      const lines = [
        `Subscribe to: ${made.url ?? made.path} (whoever has it can read the events and tasks of ${user}; shown this once)`,
        ...(made.url === null
          ? ['Put the address of this server before it, or set publicUrl in the configuration.']
          : []),
      ];
      print(json, made, lines.join('\n'));
    });
}

function addUnlink(calendar: Command): void {
  calendar
    .command('unlink <user>')
    .description('revoke the secret link of an account')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot calendar unlink ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      await perform(await settingsOf(command), 'calendar.unlink', { user });
      print(json, { user }, `Ended the calendar link of ${user}.`);
    });
}
