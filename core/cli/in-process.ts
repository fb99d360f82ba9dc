import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { asCalled } from '../../config/called-as.ts';
import { environment, type LoadedConfig, loadConfig } from '../../config/load.ts';
import type { Args, CommandName, Commands, Result } from '../control/commands.ts';
import { callControl, controlPath } from '../control/control.ts';
import { forTerminal, onOneLine } from '../runtime/terminal.ts';
import { findData, SERVICE_DIRECTORY } from './data-directory.ts';

/**
 * Loads the configuration by `--config` and `--data-dir`, and finds the data directory.
 * @param options.orHere without data anywhere, the folder's own data directory counts
 * @param options.showsDirectory the command itself prints the data directory
 * @throws `ConfigError`; `not_found` where there is no data, unless `orHere`
 */
export async function settingsOf(
  command: Command,
  { orHere = false, showsDirectory = false } = {},
): Promise<LoadedConfig> {
  const { config, dataDir } = command.optsWithGlobals<{ config?: string; dataDir?: string }>();
  const load = (cwd?: string) =>
    loadConfig({ env: environment, file: config, cwd, overrides: { dataDir: dataDir && resolve(dataDir) } });
  const { EARSHOT_TEST_SERVICE_DIRECTORY: service = SERVICE_DIRECTORY } = environment;
  const { loaded, told } = await findData(load, { service, orHere });
  if (told !== null && !showsDirectory) process.stderr.write(`${told}\n`);
  return loaded;
}

/**
 * Returns the configuration for commands that may create the data directory: the named one, or that of the working
 * directory.
 */
export function settingsHere(command: Command): LoadedConfig {
  const { config, dataDir } = command.optsWithGlobals<{ config?: string; dataDir?: string }>();
  return loadConfig({ env: environment, file: config, overrides: { dataDir } });
}

/**
 * Runs a command in the server or, where none runs, here on its data. Control characters are removed from the texts
 * of its result, which others may have written, so that it can be printed.
 */
export async function perform<C extends CommandName>(
  loaded: LoadedConfig,
  command: C,
  args: Args<C>,
): Promise<Result<C>> {
  const answer = await callControl(controlPath(loaded.config.dataDir), command, args);
  return onOneLine(answer === 'absent' ? await performHere(loaded, command, args) : answer);
}

const performHere = <C extends CommandName>(
  loaded: LoadedConfig,
  command: C,
  args: Args<C>,
): Promise<Result<C>> =>
  withCommands(loaded, commands => commands[command](args), {
    channels: command === 'status' || command.startsWith('notify.'),
  });

/**
 * Runs work with the commands here, on the data, while no server runs.
 * @param options.channels whether it needs notification channels, some of which store keys when they are loaded first
 */
export async function withCommands<T>(
  loaded: LoadedConfig,
  work: (commands: Commands) => Promise<T>,
  { channels = false } = {},
): Promise<T> {
  const [{ createApp }, { createLog }] = await Promise.all([
    import('../app.ts'),
    import('../runtime/log.ts'),
  ]); // imported late: it loads much
  const app = await createApp({ loaded, log: createLog({ level: 'silent', format: 'json' }), channels });
  try {
    return await work(app.commands);
  } finally {
    await app.stop();
  }
}

/** Options of commands that print a result. */
export interface Output {
  json?: boolean;
}

export const JSON_OPTION = new Option('--json', 'answer as one JSON object');

/** Prints a result: as one JSON object, or in words. */
export function print(json: boolean | undefined, answer: unknown, words: string): void {
  process.stdout.write(`${json ? JSON.stringify(answer) : forTerminal(asCalled(words))}\n`);
}
