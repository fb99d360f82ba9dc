import type { Command } from 'commander';
import { AppError } from '../runtime/errors.ts';
import { settingsHere } from './in-process.ts';

/** `serve`: runs the server until it is told to stop. */
export function addServe(program: Command): void {
  program
    .command('serve')
    .description('run the server until Ctrl-C')
    .option('--safe-mode', 'load no plugins but those that come with Earshot')
    .addHelpText('after', '\nExample: earshot serve --data-dir /var/lib/earshot')
    .action(async ({ safeMode = false }: { safeMode?: boolean }, command: Command) => {
      const loaded = settingsHere(command);
      const [{ serve }, { createServerLog }] = await Promise.all([
        import('../serve.ts'),
        import('../runtime/log.ts'),
      ]); // imported late: it loads much
      const isClean = await serve(loaded, createServerLog(loaded.config.log), { safeMode });
      if (!isClean) throw new AppError('timeout', 'the server did not stop in time and was cut off');
    });
}
