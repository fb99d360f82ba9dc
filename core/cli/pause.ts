import type { Command } from 'commander';
import type { Result } from '../control/commands.ts';
import { AppError } from '../runtime/errors.ts';
import { JSON_OPTION, type Output, perform, print, settingsOf } from './in-process.ts';

type Shown = Result<'listening.show'>;

const UNIT_MINUTES: Readonly<Record<string, number>> = { m: 1, h: 60, d: 24 * 60 };
const HOW = 'such as mon-fri 22:00-07:00, or sat,sun 00:00-00:00 for whole days';

/** `pause`, `resume` and `listening`: times at which a user's wearables are not listened to. */
export function addPauseCommands(program: Command): void {
  program
    .command('pause <user>')
    .description('stop listening: audio of live connections of a user is discarded')
    .option(
      '--for <time>',
      'duration in minutes, hours or days, such as 30m, 1h or 2d (default: until resumed)',
    )
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot pause ada --for 1h')
    .action(async (user: string, { for: time, json }: Output & { for?: string }, command: Command) => {
      const minutes = time === undefined ? null : minutesOf(time);
      const answer = await perform(await settingsOf(command), 'listening.pause', { user, minutes });
      print(json, answer, stateOf(user, answer));
    });
  program
    .command('resume <user>')
    .description('listen again after a pause')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot resume ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'listening.resume', { user });
      print(json, answer, stateOf(user, answer));
    });
  program
    .command('listening <user>')
    .description('show whether a user is listened to, and change the weekly pauses')
    .option('--schedule <pauses...>', `replace the weekly pauses, each ${HOW}; none removes all`)
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot listening ada --schedule "mon-fri 22:00-07:00"')
    .action(async (user: string, { schedule, json }: Output & { schedule?: string[] }, command: Command) => {
      const loaded = await settingsOf(command);
      const answer = schedule
        ? await perform(loaded, 'listening.schedule', { user, schedule: isNone(schedule) ? [] : schedule })
        : await perform(loaded, 'listening.show', { user });
      print(
        json,
        answer,
        [stateOf(user, answer), ...answer.schedule.map(span => `Paused each week: ${span}`)].join('\n'),
      );
    });
}

function stateOf(user: string, { paused, until }: Shown): string {
  const end = until === null ? '' : ` until ${until}`;
  if (!paused) return `${user} is listened to${end}.`;
  return `Listening to ${user} is paused${end}. To end that: earshot resume ${user}`;
}

function isNone(schedule: readonly string[]): boolean {
  return schedule.length === 1 && schedule[0] === 'none';
}

function minutesOf(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([mhd])$/.exec(text.trim()) ?? [];
  const minutes = Number(count) * (UNIT_MINUTES[unit] ?? 0);
  if (minutes > 0) return minutes;
  throw new AppError(
    'invalid_request',
    `--for ${text}: should be a number with m, h or d, such as 90m or 2h`,
  );
}
