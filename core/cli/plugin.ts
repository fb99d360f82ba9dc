import type { Command } from 'commander';
import { retryPlugin } from '../plugin-host/starts.ts';
import { AppError } from '../runtime/errors.ts';
import { JSON_OPTION, type Output, print, settingsOf } from './in-process.ts';
import { addPluginCheck } from './plugin-check.ts';

/** `plugin check` and `plugin retry`. */
export function addPlugin(program: Command): void {
  const plugin = program
    .command('plugin')
    .description('check plugins, and load one again that was left out')
    .addHelpText('after', '\nExample: earshot plugin check ./acme-stt.mjs');
  addPluginCheck(plugin);
  plugin
    .command('retry <name>')
    .description('load a plugin again that was left out because the last three starts failed with it')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot plugin retry acme')
    .action(async (name: string, { json }: Output, command: Command) => {
      const { dataDir } = (await settingsOf(command)).config;
      if (!retryPlugin(dataDir, name))
        throw new AppError(
          'not_found',
          `No plugin ${name} was left out: earshot status lists those that were`,
        );
      print(json, { name }, `${name} is loaded again at the next start of the server.`);
    });
}
