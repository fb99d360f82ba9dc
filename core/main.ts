import { environment, loadConfig } from '../config/load.ts';
import { createApp } from './app.ts';
import { createLog } from './log.ts';
import { renderStatus } from './status.ts';

const OLDEST_NODE = 24;
/** A stop that takes longer is cut off. */
const STOP_MS = 10_000;

/** Runs the server until it is told to stop; resolves with the process's exit status. */
async function main(): Promise<number> {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE)
    throw new Error(
      `Earshot needs Node ${OLDEST_NODE}, this is ${process.version}; start it with: npm start`,
    );
  const loaded = loadConfig({ env: environment });
  const log = createLog(loaded.config.log);
  process.on('unhandledRejection', error => {
    log.fatal({ err: error }, 'unhandled rejection');
    process.exit(1);
  });
  const app = await createApp({ loaded, log, serving: true });
  const stopped = stopRequest();
  try {
    const { url } = await app.start();
    process.send?.({ event: 'listening', url });
    process.stderr.write(`${renderStatus(await app.status())}\n`);
    log.info({ reason: await stopped }, 'stopping');
  } finally {
    setTimeout(() => process.exit(1), STOP_MS).unref();
    await app.stop();
  }
  return 0;
}

/** Resolves with what asked: a signal, or the end of the parent that started us with an IPC channel. */
function stopRequest(): Promise<string> {
  return new Promise(resolve => {
    process.on('SIGINT', resolve);
    process.on('SIGTERM', resolve);
    process.on('disconnect', () => resolve('parent gone'));
  });
}

main().then(
  status => process.exit(status),
  (error: Error) => {
    process.stderr.write(`error: ${error.message}\n`);
    process.exit(1);
  },
);
