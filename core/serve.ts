import { setTimeout as sleep } from 'node:timers/promises';
import { asCalled } from '../config/called-as.ts';
import type { LoadedConfig } from '../config/load.ts';
import { createApp, openRecognisers } from './app.ts';
import { renderStatus } from './control/status.ts';
import type { Served } from './listen/recognition/service.ts';
import { containFaults } from './plugin-host/faults.ts';
import { withoutForeignPlugins } from './plugin-host/safe-mode.ts';
import { concealSecrets, type Log } from './runtime/log.ts';

/** A stop that takes longer is aborted. */
const STOP_MS = 10_000;

/**
 * Runs the server until it is told to stop: by a signal, or by the end of the parent that started it with an IPC
 * channel, which is sent `{ event: 'listening', url }`. Resolves to whether it stopped in time; its caller exits then.
 * @param options.safeMode without plugins of third parties
 */
export async function serve(
  given: LoadedConfig,
  log: Log,
  { safeMode = false }: { safeMode?: boolean } = {},
): Promise<boolean> {
  const loaded = safeMode ? inSafeMode(given) : given;
  containFaults(log);
  survivePrinting();
  const stopped = stopRequest();
  const app = await createApp({ loaded, log, serving: true });
  try {
    const { url } = await app.start();
    process.send?.({ event: 'listening', url });
    process.stderr.write(`${asCalled(renderStatus(await app.commands.status({})))}\n`);
    const welcome = await app.welcomeUrl();
    if (welcome !== null)
      process.stderr.write(`Set the password of the first account here, once: ${welcome}\n`);
    log.info({ reason: await stopped }, 'stopping');
  } catch (error) {
    await stopInTime(app);
    throw error;
  }
  return stopInTime(app);
}

/** Serves the recognisers of this machine to others until it is told to stop; resolves as `serve` does. */
export async function serveRecognisers(loaded: LoadedConfig, log: Log, served: Served): Promise<boolean> {
  containFaults(log);
  survivePrinting();
  if (served.token !== null) concealSecrets([served.token]);
  const stopped = stopRequest();
  const service = await openRecognisers({ loaded, log, served });
  process.stderr.write(`${service.lines.join('\n')}\n`);
  log.info({ reason: await stopped }, 'stopping');
  return stopInTime(service);
}

function inSafeMode(given: LoadedConfig): LoadedConfig {
  const { loaded, leftOut } = withoutForeignPlugins(given);
  const names = leftOut.length === 0 ? 'there are none' : `${leftOut.join(', ')} left out`;
  process.stderr.write(
    `Safe mode, without plugins of third parties: ${names}; options set on the page are left out\n`,
  );
  return loaded;
}

/** Ignores errors of standard output and standard error: a closed reader may end a command, but not the server. */
function survivePrinting(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.removeAllListeners('error').on('error', () => {});
}

async function stopInTime(app: { stop(): Promise<void> }): Promise<boolean> {
  const late = sleep(STOP_MS, false);
  return Promise.race([app.stop().then(() => true), late]);
}

/** Resolves with the reason for a stop. */
function stopRequest(): Promise<string> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, resolve);
    process.on('disconnect', () => resolve('parent gone'));
  });
}
