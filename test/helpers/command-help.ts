import { createProgram } from '../../core/cli/program.ts';

/**
 * Returns what a command prints for `--help`, without a process.
 * @param words names of the command and those that it belongs to; none: the program itself
 */
export function helpOf(words: readonly string[]): string {
  let command = createProgram();
  for (const word of words) {
    const found = command.commands.find(each => each.name() === word || each.aliases().includes(word));
    if (!found) throw new Error(`there is no command ${words.join(' ')}`);
    command = found;
  }
  let help = '';
  command.configureOutput({
    writeOut(part) {
      help += part;
    },
  });
  command.outputHelp();
  return help;
}
