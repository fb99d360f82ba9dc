import type { Command } from 'commander';
import { settingsOf } from './in-process.ts';
import type { ServerOptions } from './running-server.ts';

export interface McpOptions extends ServerOptions {
  write?: boolean;
}

/**
 * `mcp`: offers the server's tools over standard input and output, for programs that start their tools themselves.
 */
export function addMcp(program: Command): void {
  program
    .command('mcp')
    .description(
      'serve the Model Context Protocol on standard input and output, for programs such as Claude Desktop that start their tools themselves',
    )
    .option('--write', 'also offer tools that create conversations, memories, tasks and people')
    .option('--user <name>', 'account to read (default: the configured one)')
    .option('--key <key>', 'an API key, instead of --user')
    .option('--url <url>', 'a server elsewhere, http://host:port; needs --key')
    .addHelpText('after', '\nExample: earshot mcp --user ada')
    .action(async (options: McpOptions, command: Command) => {
      const { serveMcp } = await import('./mcp-stdio.ts'); // imported late: it loads the protocol's library
      await serveMcp(options, await settingsOf(command, { orHere: options.url !== undefined }));
    });
}
