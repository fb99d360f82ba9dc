import { randomUUID } from 'node:crypto';
import { copyFile, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { loadConfig } from '../../../config/load.ts';
import { openStorage } from '../../../core/app.ts';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { createLog } from '../../../core/runtime/log.ts';
import { command, earshot } from '../../helpers/cli.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen } from '../../helpers/listen-client.ts';
import { buildServer, failingStt, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';

const QUERY = { codec: 'pcm16', sample_rate: 16_000, conversation_timeout: 4, ack: 'enabled' };

/** Speech that no recogniser accepts stays in the spool. */
async function leaveAudio(instance: TestServer) {
  const client = await connectListen(instance.url, instance.key, QUERY);
  client.socket.send(samplesToBytes(joined(speech('budget'), silence(2))));
  await client.until('ack', ({ messages }) => messages === 1);
  client.socket.close();
  await client.closed;
}

async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => []);
}

async function directory(t: ExecutionContext) {
  const dataDir = await temporaryDirectory(t);
  const database = join(dataDir, 'earshot.db');
  return { dataDir, database, audio: join(dataDir, 'audio'), orphaned: join(dataDir, 'orphaned-audio') };
}

test('a data directory without its database is not served with an empty one, and nothing in it changes', async t => {
  const { dataDir, database, audio } = await directory(t);
  const { begin, end, ...stt } = await failingStt(t);
  await begin();
  const instance = await buildServer({ ...stt, dataDir });
  await leaveAudio(instance);
  await instance.stop();
  const held = await Promise.all((await namesIn(audio)).map(name => readFile(join(audio, name))));
  t.true(held.length > 0);
  await copyFile(database, `${database}.kept`);

  const lost: [string, () => Promise<void>][] = [
    ['missing', () => rm(database)],
    ['empty', () => truncate(database)],
  ];
  for (const [how, lose] of lost) {
    await copyFile(`${database}.kept`, database);
    await lose();
    const message =
      /is empty, but .*server\.json says that it has accounts.*Put back.*begin anew, move the data directory away/;
    await t.throwsAsync(buildServer({ ...stt, dataDir }), { code: 'config_error', message }, how);
    const { code, stderr } = await command(['user', 'add', 'Mallory'], { EARSHOT_DATA_DIR: dataDir });
    t.is(code, 1, how);
    t.regex(stderr, message, how);

    const log = Buffer.from('what was written last');
    await rm(database, { force: true });
    if (how === 'empty') await writeFile(database, '');
    await writeFile(`${database}-wal`, log);
    await t.throwsAsync(buildServer({ ...stt, dataDir }), {
      code: 'config_error',
      message: /is missing or empty, but its write-ahead log .*-wal is there.*Put back/s,
    });
    const { stdout } = await earshot(['doctor'], { EARSHOT_DATA_DIR: dataDir });
    t.regex(stdout, /✗ file: .*earshot\.db is missing or empty/);
    t.deepEqual(await readFile(`${database}-wal`), log, how);
    await rm(`${database}-wal`);
  }
  t.deepEqual(await Promise.all((await namesIn(audio)).map(name => readFile(join(audio, name)))), held);

  await end();
  await rm(database, { force: true });
  await rm(`${database}-shm`, { force: true });
  await copyFile(`${database}.kept`, database);
  const back = await buildServer({ ...stt, dataDir });
  t.is(back.userId, instance.userId);
  await back.stop();
});

test('audio of a stream unknown to an older database is kept, reported, and resumed by the newer one', async t => {
  const { dataDir, database, audio, orphaned } = await directory(t);
  const { begin, end, ...stt } = await failingStt(t);
  await begin();
  const first = await buildServer({ ...stt, dataDir });
  await first.stop();
  await copyFile(database, `${database}.older`);
  const second = await buildServer({ ...stt, dataDir });
  await leaveAudio(second);
  await second.stop();
  await copyFile(database, `${database}.newer`);
  await end();

  await copyFile(`${database}.older`, database);
  const older = await buildServer({ ...stt, dataDir });
  const [name = ''] = await eventually(
    () => namesIn(orphaned),
    names => names.some(each => each.endsWith('.log')),
  );
  t.regex(name, new RegExp(`^${first.userId}_[0-9a-f-]{36}\\.log$`));
  const { ready } = await older.app.commands.status({});
  t.regex(
    ready.find(({ name: part }) => part === 'orphaned-audio')?.detail ?? '',
    /1 recording .* of streams that the database does not know/,
  );
  const { stdout } = await earshot(['doctor'], { EARSHOT_DATA_DIR: dataDir });
  t.regex(stdout, /orphaned audio: 1 recording/);
  await older.stop();
  t.deepEqual(await namesIn(audio), []);

  await copyFile(`${database}.newer`, database);
  const newer = await buildServer({ ...stt, dataDir });
  t.deepEqual(await namesIn(orphaned), []);
  const [conversation] = await eventually(
    async () => {
      const { body } = await newer.get('/v1/dev/user/conversations?include_transcript=true');
      return body as { transcript_segments: { text: string }[] }[];
    },
    found => (found[0]?.transcript_segments.length ?? 0) > 0,
  );
  t.truthy(conversation?.transcript_segments[0]?.text);
  await newer.stop();
});

test('jobs of a killed node run as soon as it starts again, and those of another node do not', async t => {
  const { dataDir } = await directory(t);
  const instance = await buildServer({ stt: [], dataDir });
  await instance.stop();
  const { id } = JSON.parse(await readFile(join(dataDir, 'server.json'), 'utf8'));
  const loaded = loadConfig({ env: {}, cwd: dataDir, overrides: { dataDir } });
  const { storage, close } = await openStorage({
    loaded,
    log: createLog({ level: 'silent', format: 'json' }),
  });
  const now = Date.now();
  for (const [key, holder] of [
    ['own', id],
    ['foreign', randomUUID()],
  ]) {
    await storage.jobs.enqueue({
      kind: 'conversation.finish',
      key,
      runAt: now,
      payload: { id: key, userId: key },
    });
    await storage.jobs.claim(['conversation.finish'], now, 24 * 3_600_000, 1, holder);
  }
  await close();

  const again = await buildServer({ stt: [], dataDir });
  const { storage: seen, close: closeSeen } = await openStorage({
    loaded,
    log: createLog({ level: 'silent', format: 'json' }),
  });
  t.teardown(again.stop);
  t.teardown(closeSeen);
  const states = await eventually(
    async () => {
      const counts = await seen.jobs.counts(Date.now());
      return counts.filter(({ kind }) => kind === 'conversation.finish').map(({ state }) => state);
    },
    found => found.includes('running') && found.includes('failed'),
  );
  t.deepEqual(states.sort(), ['failed', 'running'], 'its own was tried; there is no such conversation');
});
