import { copyFile, mkdir, open, readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { databaseCheck, pluginsCheck } from '../../../../core/cli/doctor/plugins.ts';
import { user } from '../../../../plugins/kit/suites/storage/rows.ts';
import { openSqlite } from '../../../../plugins/storage/sql/sqlite.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { look, patientOf } from '../../../helpers/patient.ts';
import { openPostgresStorage, startPostgres } from '../../../helpers/postgres.ts';
import { openStorage, storageContext } from '../../../helpers/storage.ts';

/** A data directory with a database of `users` accounts in it. */
async function withDatabase(t: ExecutionContext, users = 3) {
  const dataDir = await temporaryDirectory(t);
  const file = join(dataDir, 'earshot.db');
  const { storage, close } = await openStorage(file);
  await storage.migrate();
  for (let index = 0; index < users; index++) await storage.users.insert(user(`u${index}`));
  return { dataDir, file, storage, close };
}

test('an intact database passes, also while a server uses it; nothing is written', async t => {
  const { dataDir, file, storage, close } = await withDatabase(t);
  const patient = await patientOf(t, { dataDir });
  const beside = await look(t, databaseCheck, patient);
  t.regex(beside.file?.detail ?? '', new RegExp(`^${file}: sound, [\\d.]+ MB, SQLite 3\\.`));
  t.regex(beside.schema?.detail ?? '', /^version \d+, up to date$/);
  t.regex(beside['copy before a migration']?.detail ?? '', /^none yet/);
  await storage.users.insert(user('later'));
  await close();
  const alone = await look(t, databaseCheck, patient);
  t.is(alone.file?.level, 'good');
  t.is(alone.schema?.level, 'good');
});

test('a missing database is no failure, and is not created', async t => {
  const dataDir = await temporaryDirectory(t);
  const found = await look(t, databaseCheck, await patientOf(t, { dataDir }));
  t.is(found.file?.level, 'note');
  t.deepEqual(await readdir(dataDir), []);
});

test('a file that is not a database fails, and the latest backup is suggested', async t => {
  const { dataDir, file, close } = await withDatabase(t);
  await close();
  const backup = join(dataDir, 'backups', 'earshot-20261121T000000000Z-v2.db');
  await mkdir(join(dataDir, 'backups'));
  await copyFile(file, backup);
  await writeFile(file, 'this is no database at all, and it is long enough to be looked at '.repeat(99));
  const found = await look(t, databaseCheck, await patientOf(t, { dataDir }));
  t.is(found.file?.level, 'bad');
  t.regex(found.file?.detail ?? '', /is damaged: file is not a database/);
  t.true(found.file?.cure?.endsWith(`cp ${backup} ${file}`), found.file?.cure ?? '');
  t.regex(
    found['copy before a migration']?.detail ?? '',
    /earshot-20261121T000000000Z-v2\.db, \d+ hours old/,
  );
});

test('a damaged or truncated database fails', async t => {
  const { dataDir, file, close } = await withDatabase(t, 500);
  await close();
  const patient = await patientOf(t, { dataDir });
  t.is((await look(t, databaseCheck, patient)).file?.level, 'good');
  const handle = await open(file, 'r+');
  const { size } = await handle.stat();
  await handle.write(Buffer.alloc(4096, 0xa5), 0, 4096, Math.floor(size / 4096 / 2) * 4096);
  await handle.close();
  t.is((await look(t, databaseCheck, patient)).file?.level, 'bad');
  await truncate(file, 4096);
  t.is((await look(t, databaseCheck, patient)).file?.level, 'bad');
});

test('a database of a newer Earshot fails, an older one is migrated by the next start', async t => {
  const { dataDir, file, close } = await withDatabase(t);
  await close();
  const patient = await patientOf(t, { dataDir });
  const dialect = openSqlite(file, storageContext());
  await dialect.writer('migrations').where({ name: '0003-folders' }).update({ name: '9999-future' });
  t.like((await look(t, databaseCheck, patient)).schema, {
    level: 'bad',
    detail: 'a newer Earshot has written it (9999-future)',
    cure: 'update Earshot, or put back a backup from before the update',
  });
  await dialect.writer('migrations').where({ name: '9999-future' }).delete();
  const { schema } = await look(t, databaseCheck, patient);
  t.like(schema, { level: 'note' });
  t.regex(schema?.detail ?? '', /the next start brings it to \d+$/);
  await dialect.close();
});

test('an unknown storage fails', async t => {
  const found = await look(t, databaseCheck, await patientOf(t, { storage: 'nowhere' }));
  t.like(found.database, { level: 'bad', detail: 'there is no storage nowhere' });
});

test('an unreachable Postgres fails, with instructions', async t => {
  const patient = await patientOf(t, {
    plugins: { sql: { client: 'postgres', host: '127.0.0.1', port: 1 } },
  });
  const { server } = await look(t, databaseCheck, patient);
  t.is(server?.level, 'bad');
  t.regex(server?.detail ?? '', /database earshot on 127\.0\.0\.1:1 cannot be used: nothing listens there/);
  t.regex(server?.cure ?? '', /Start Postgres, or correct plugins\.sql\.host/);
});

test('a reachable Postgres is reported with its version and its problems', async t => {
  const server = await startPostgres().catch(error => error);
  if (server instanceof Error) {
    t.log(`SKIPPED: Postgres cannot be started here. ${server}`);
    t.falsy(process.env.CI, String(server));
    return;
  }
  t.teardown(() => server.stop());
  const patient = (url: string) => patientOf(t, { plugins: { sql: { client: 'postgres', url } } });
  const empty = await look(t, databaseCheck, await patient(server.url('postgres')));
  t.regex(empty.server?.detail ?? '', /: Postgres 1\d/);
  t.is(empty.schema?.level, 'note');

  const { storage, close } = await openPostgresStorage(server.url('postgres'));
  await storage.migrate();
  await close();
  t.is((await look(t, databaseCheck, await patient(server.url('postgres')))).schema?.level, 'good');

  const refused = await look(t, databaseCheck, await patient(server.url('postgres', 'wrong')));
  t.regex(refused.server?.detail ?? '', /user or password is wrong$/);
  const missing = await look(t, databaseCheck, await patient(server.url('nowhere')));
  t.regex(missing.server?.cure ?? '', /^Make it with createdb/);
});

const TELLS = `export default {
  name: 'acme', api: 1, title: 'Acme',
  options: z => z.object({ cure: z.string().nullable().default(null) }),
  setup: () => ({}),
  diagnose: async ({ options, dataDir }) => [
    { what: 'licence', level: 'doubt', detail: 'ends soon, in ' + dataDir, cure: options.cure },
  ],
};`;

test('self-checks of other plugins are reported too, and their problems must have instructions', async t => {
  const use = join(await temporaryDirectory(t), 'acme.mjs');
  await writeFile(use, TELLS);
  const sound = await patientOf(t, { plugins: { acme: { use, cure: 'renew it' } } });
  const found = await look(t, pluginsCheck, sound);
  const directory = join(sound.loaded.config.dataDir, 'plugins/acme');
  t.like(found['acme, licence'], { level: 'doubt', detail: `ends soon, in ${directory}`, cure: 'renew it' });
  const broken = await look(t, pluginsCheck, await patientOf(t, { plugins: { acme: { use } } }));
  t.regex(broken.plugins?.detail ?? '', /^diagnose of acme: 0 is wrong without a cure/);
});
