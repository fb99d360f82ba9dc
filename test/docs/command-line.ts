import type { Command } from 'commander';
import { createProgram } from '../../core/cli/program.ts';
import { generated } from './markdown.ts';

const WIDTH = 100;

/** Renders docs/cli.md from the help of every command. */
export function commandLinePage(): string {
  const sections = leaves(createProgram()).map(section);
  return `# Command line

${generated("the commands' own help")}

In a folder with an installed Earshot, or in a checkout, run commands as \`npx earshot <command>\`. \`--help\` after any
command prints the text below.

- **Data directory.** A command uses \`--data-dir\`, else \`EARSHOT_DATA_DIR\`, else \`dataDir\` of the configuration. If none
  of them is set, it looks at \`/var/lib/earshot\` (the systemd service) and then at \`data\` in the current folder. A
  directory with a running server is preferred. The command prints the directory it found on standard error.
- **New data directories** are created only by \`serve\`, \`setup\`, \`demo\`, \`recogniser\`, \`models pull\`, and \`bridge\` when \`bridge.core\`
  names a server elsewhere.
- **Running server.** Commands work with and without one. They talk to it over a Unix socket in the data directory.
- **Exit status.** 0: success. 1: failure. 2: wrong use. An error is one line on standard error.
- **Options for all commands.** \`--config FILE\` and \`--data-dir DIR\`. Commands that print a result also take \`--json\`.

${sections.join('\n')}`;
}

/** Commands without subcommands, in the order of the help. */
function leaves(command: Command): Command[] {
  const children = command.createHelp().visibleCommands(command);
  const own = children.filter(child => child.name() !== 'help');
  return own.length === 0 ? [command] : own.flatMap(leaves);
}

function section(command: Command): string {
  let help = '';
  command.configureOutput({
    writeOut: text => {
      help += text;
    },
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return `## ${nameOf(command)}\n\n\`\`\`text\n${help.trim()}\n\`\`\`\n`;
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}
