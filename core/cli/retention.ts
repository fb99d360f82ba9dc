import type { Command } from 'commander';
import { JSON_OPTION, perform, print, settingsOf } from './in-process.ts';

interface Options {
  set?: string[];
  starredToo?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

/** `retention`: how long the data of a user is kept. */
export function addRetention(program: Command): void {
  program
    .command('retention <user>')
    .description('show or replace the rules by which data of a user is deleted each night')
    .option(
      '--set <rules...>',
      'DATA=DAYS, or DATA/FOLDER=DAYS; DATA is conversations, photos, audio or deliveries, and DAYS a number or keep; none removes all rules',
    )
    .option('--starred-too', 'with --set: delete starred conversations as well')
    .option('--dry-run', 'only show what these rules, or the stored ones, would delete now')
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      '\nExample: earshot retention ada --set conversations=365 conversations/Family=keep',
    )
    .action(async (user: string, { set, starredToo, dryRun, json }: Options, command: Command) => {
      const loaded = await settingsOf(command);
      const rules = set?.length === 1 && set[0] === 'none' ? [] : (set ?? null);
      const keepStarred = starredToo !== true;
      if (dryRun) {
        const found = await perform(loaded, 'retention.preview', { user, rules, keepStarred });
        const { conversations, photos, audioFiles, deliveries, oldest } = found;
        const counts = `${conversations} conversations, ${photos} photos, ${audioFiles} audio files, ${deliveries} deliveries`;
        const first = oldest.map(({ title }) => `  ${title || 'without a title'}`);
        return print(json, found, [`Would be deleted now: ${counts}`, ...first].join('\n'));
      }
      const answer = rules
        ? await perform(loaded, 'retention.set', { user, rules, keepStarred })
        : await perform(loaded, 'retention.show', { user });
      const starred = answer.keepStarred
        ? 'Starred conversations are kept.'
        : 'Starred ones are deleted as well.';
      const words =
        answer.rules.length === 0
          ? `No data of ${user} is deleted by age.`
          : [...answer.rules, starred].join('\n');
      print(json, answer, words);
    });
}
