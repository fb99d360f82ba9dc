import { globSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { offerPostgres } from './test/helpers/postgres-server.ts';

/**
 * Files that take long, those that mostly wait first: begun last, they would run alone while the processors have nothing
 * to do.
 */
const LONG = [
  'test/bridge/radios/faults.test.ts',
  'test/core/control/move.test.ts',
  'test/torture/days.test.ts',
  'test/core/listen/recognition/service.test.ts',
  'test/core/listen/recordings/long-message.test.ts',
  'test/core/listen/whole-run.test.ts',
  'test/core/listen/field-clients.test.ts',
  'test/bridge/devices/wearables.test.ts',
  'test/bridge/radios/joined.test.ts',
  'test/plugins/page/dashboard-browser.test.ts',
  'test/plugins/page/dashboard-broken.test.ts',
  'test/plugins/page/dashboard-features.test.ts',
  'test/core/cli/data-directory.test.ts',
  'test/core/slow.test.ts',
  'test/plugins/storage/lists.test.ts',
  'test/torture/torture.test.ts',
  'test/core/pipeline/killed.test.ts',
  'test/core/cli/plugin-check.test.ts',
  'test/core/http/matrix.test.ts',
  'test/plugins/stt/pocketsphinx.test.ts',
  'test/packed.test.ts',
  'test/core/domain/export/round-trip.test.ts',
  'test/core/backup/interrupted.test.ts',
  'test/readme.test.ts',
  'test/core/http/fuzz.test.ts',
  'test/core/listen/channel/channels.test.ts',
  'test/core/cli/demo/demo.test.ts',
  'test/packed-bridge.test.ts',
  'test/core/domain/foreign/foreign-imports.test.ts',
  'test/core/stop.test.ts',
  'test/core/listen/slow-disk.test.ts',
  'test/core/http/openapi.test.ts',
  'test/core/audio/codec-fuzz.test.ts',
  'test/codecs.test.ts',
  'test/core/backup/backups.test.ts',
  'test/plugins/llm/llama.test.ts',
  'test/plugins/storage/sql.test.ts',
  'test/plugins/stt/whisper.test.ts',
  'test/main-job.test.ts',
  'test/lost-packets.test.ts',
];

/** Files that share a Postgres server: run next to each other, they need one start of it. */
const onPostgres = new Set(
  globSync('test/**/*.test.ts').filter(file => readFileSync(file, 'utf8').includes('openDatabases(')),
);

const rank = file => {
  const place = LONG.findIndex(name => file.endsWith(name));
  if (place >= 0) return place;
  return LONG.length + (onPostgres.has(relative(process.cwd(), file)) ? 0 : 1);
};

/** File of a migrated database for all test files of this run, made by the first that needs it. */
const migrated = join(tmpdir(), `earshot-pattern-${process.pid}.db`);
process.once('exit', () => rmSync(migrated, { force: true }));

export default {
  extensions: ['ts'],
  files: ['test/**/*.test.ts'],
  sortTestFiles: (one, other) => rank(one) - rank(other) || one.localeCompare(other),
  // Ends what hangs. Tests have no limits of their own: they take as long as the machine needs beside other work.
  timeout: '10m',
  // More than there are processors: a fifth of the time of many files is spent waiting.
  concurrency: 5,
  workerThreads: false,
  require: ['./test/helpers/no-source-maps.ts'],
  // Of the time in which a file loads 2,000 modules, a sixth went to links in their paths.
  nodeArguments: ['--preserve-symlinks', '--preserve-symlinks-main'],
  // Each file is a process of its own, and half of its start would be compiling the sources again.
  environmentVariables: {
    NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/earshot', import.meta.url)),
    EARSHOT_TEST_POSTGRES: await offerPostgres(),
    EARSHOT_TEST_SQLITE: migrated,
  },
};
