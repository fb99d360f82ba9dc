import { environment, loadConfig } from '../config/load.ts';
import { createServerLog } from './runtime/log.ts';
import { serve } from './serve.ts';

const OLDEST_NODE = 24;

async function main(): Promise<number> {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE)
    throw new Error(
      `Earshot needs Node ${OLDEST_NODE}, this is ${process.version}; start it with: npm start`,
    );
  const loaded = loadConfig({ env: environment });
  return (await serve(loaded, createServerLog(loaded.config.log))) ? 0 : 1;
}

main().then(
  status => process.exit(status),
  (error: Error) => {
    process.stderr.write(`error: ${error.message}\n`);
    process.exit(1);
  },
);
