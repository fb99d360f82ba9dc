import type { Command } from 'commander';
import { renderStatus } from '../control/status.ts';
import { perform, print, settingsOf } from './in-process.ts';

/** `status`: shows what works, and how to repair what does not. */
export function addStatus(program: Command): void {
  program
    .command('status')
    .description('show the address of the server, what is ready, and how to make the rest ready')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot status')
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const status = await perform(await settingsOf(command, { showsDirectory: true }), 'status', {});
      print(json, status, renderStatus(status).trimEnd());
    });
}
