import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { environment } from '../../config/load.ts';
import { AppError } from '../runtime/errors.ts';
import { settingsHere } from './in-process.ts';

const SCRIPT = fileURLToPath(new URL('../../config/setup.mjs', import.meta.url));

/** `setup`: prepares a speech recogniser for this machine; `npm start` in a checkout does so by itself. */
export function addSetup(program: Command): void {
  program
    .command('setup')
    .description(
      'set up a speech recogniser on this machine: download a model or, as root, install one with apt-get',
    )
    .addHelpText('after', '\nExample: earshot setup')
    .action(async (_options: object, command: Command) => {
      const { config, file } = settingsHere(command);
      const script = spawn(process.execPath, [SCRIPT, '--recogniser'], {
        env: {
          ...environment,
          EARSHOT_DATA_DIR: config.dataDir,
          ...(file ? { EARSHOT_CONFIG: file } : {}),
        },
        stdio: 'inherit',
      });
      const [status] = await once(script, 'exit');
      if (status !== 0) throw new AppError('unavailable', 'the set-up is not complete');
    });
}
