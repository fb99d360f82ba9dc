import type { Command } from 'commander';
import { JSON_OPTION, type Output, perform, print, settingsOf } from './in-process.ts';

/** `vocabulary`: words that recognisers should expect, in addition to names of people. */
export function addVocabularyCommands(program: Command): void {
  const vocabulary = program
    .command('vocabulary')
    .description('vocabulary: names and words that recognisers should expect, besides the names of people')
    .addHelpText('after', '\nExample: earshot vocabulary add ada "Dr. Okonkwo" Earshot');
  vocabulary
    .command('list <user>')
    .description('list the words, one per line')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot vocabulary list ada')
    .action(async (user: string, { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), 'vocabulary.list', { user });
      const none = `There are no words yet: earshot vocabulary add ${user} <word>`;
      print(json, answer, answer.words.length === 0 ? none : answer.words.join('\n'));
    });
  addChange(vocabulary, 'add', 'add words');
  addChange(vocabulary, 'remove', 'remove words');
}

function addChange(vocabulary: Command, verb: 'add' | 'remove', description: string): void {
  vocabulary
    .command(`${verb} <user> <words...>`)
    .description(`${description}; put a term of several words in quotation marks`)
    .addOption(JSON_OPTION)
    .addHelpText('after', `\nExample: earshot vocabulary ${verb} ada "Dr. Okonkwo"`)
    .action(async (user: string, words: string[], { json }: Output, command: Command) => {
      const answer = await perform(await settingsOf(command), `vocabulary.${verb}`, { user, words });
      const count = answer.words.length === 1 ? '1 word' : `${answer.words.length} words`;
      print(json, answer, `The vocabulary of ${user} now has ${count}. New connections use it.`);
    });
}
