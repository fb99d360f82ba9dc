import type { Command } from 'commander';
import { environment, type LoadedConfig, loadConfig } from '../../config/load.ts';
import type { Args, CommandName, Result } from '../commands.ts';
import { callControl, controlPath } from '../control.ts';

/** The configuration as `--config` and `--data-dir` have it. Throws `ConfigError`. */
export function settingsOf(command: Command): LoadedConfig {
  const { config, dataDir } = command.optsWithGlobals<{ config?: string; dataDir?: string }>();
  return loadConfig({ env: environment, file: config, overrides: { dataDir } });
}

/** Does a command in the running server, or, where none runs, here on its data. */
export async function perform<C extends CommandName>(
  loaded: LoadedConfig,
  command: C,
  args: Args<C>,
): Promise<Result<C>> {
  const answer = await callControl(controlPath(loaded.config.dataDir), command, args);
  return answer === 'absent' ? performHere(loaded, command, args) : answer;
}

async function performHere<C extends CommandName>(
  loaded: LoadedConfig,
  command: C,
  args: Args<C>,
): Promise<Result<C>> {
  const [{ createApp }, { createLog }] = await Promise.all([import('../app.ts'), import('../log.ts')]); // much to load
  const app = await createApp({ loaded, log: createLog({ level: 'silent', format: 'json' }) });
  try {
    return await app.commands[command](args);
  } finally {
    await app.stop();
  }
}

/** Prints an answer: as one JSON object, or in words. */
export function print(json: boolean | undefined, answer: unknown, words: string): void {
  process.stdout.write(`${json ? JSON.stringify(answer) : words}\n`);
}
