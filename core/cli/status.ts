import type { Command } from 'commander';
import { renderStatus } from '../control/status.ts';
import { JSON_OPTION, type Output, perform, print, settingsOf } from './in-process.ts';

/** `status`: shows what works, and how to repair what does not. */
export function addStatus(program: Command): void {
  program
    .command('status')
    .description('show the address of the server, what is ready, and how to make the rest ready')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot status')
    .action(async ({ json }: Output, command: Command) => {
      const status = await perform(await settingsOf(command, { showsDirectory: true }), 'status', {});
      print(json, status, renderStatus(status).trimEnd());
    });
}
