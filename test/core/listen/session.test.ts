import { join } from 'node:path';
import test from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';
import { changeDatabase, openDatabase } from '../../helpers/sqlite.ts';

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };
const LIST = '/v1/dev/user/conversations?include_transcript=true';

const say = (client: ListenClient, message: unknown) => client.socket.send(JSON.stringify(message));
const send = (client: ListenClient, samples: Int16Array) => client.socket.send(samplesToBytes(samples));

const suggest = (client: ListenClient, text: string, start: number, end: number) =>
  say(client, {
    type: 'suggested_transcript',
    stt_provider: 'phone',
    segments: [{ text, speaker: 'SPEAKER_00', start, end }],
  });

/** A server with a faulty detector and a faulty recogniser. */
function stuckEars(detector: 'hangs' | 'waits' | 'fails-once') {
  const use = join(import.meta.dirname, '../../fixtures/plugins/stuck-ears.ts');
  return { stt: ['stuck-ears'], plugins: { 'stuck-ears': { use, detector } } };
}

async function texts(server: TestServer): Promise<string[][]> {
  const { status, body } = await server.get(LIST);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  const list = body as { transcript_segments: { text: string }[] }[];
  return list.map(({ transcript_segments: segments }) => segments.map(({ text }) => text)).reverse();
}

test('a detector that hangs does not delay the end of its connection, and no vendor message is quoted', async t => {
  const server = await openServer(t, stuckEars('hangs'));
  const client = await connectListen(server.url, server.key, PCM);
  send(client, speech('budget'));
  const failed = await client.until('service_status', event => event.status === 'stt_failed');
  t.like(failed, { outcome: 'upstream_error', retryable: true });
  t.notRegex(JSON.stringify(client.events), /vendor|sk-123/);
  t.is((await client.closed).code, 1011);
});

test('a detector that fails ends the connection, and a reconnect loses nothing', async t => {
  const server = await openServer(t, stuckEars('fails-once'));
  const query = { ...PCM, stream: 'recording', client_device_id: 'pendant' };
  const first = await connectListen(server.url, server.key, query);
  send(first, speech('budget'));
  t.deepEqual(await first.closed, { code: 1013, reason: 'The detector fell over' });
  for (let held: number | undefined = 0; held !== 1; ) {
    // until it is on disk
    const second = await connectListen(server.url, server.key, query);
    held = (await second.until('conversation_session')).received;
    t.is(second.socket.readyState, second.socket.OPEN);
    second.socket.close();
    await second.closed;
  }
});

test('acknowledgements count the samples of earlier connections before these are played', async t => {
  const server = await openServer(t, stuckEars('waits'));
  const query = {
    ...PCM,
    sample_rate: 8000,
    ack: 'enabled',
    stream: 'recording',
    client_device_id: 'pendant',
  };
  for (const [before, after] of [
    [0, 50],
    [50, 60],
    [60, 65],
  ] as const) {
    const client = await connectListen(server.url, server.key, query);
    t.is((await client.until('conversation_session')).received, before);
    for (let number: number = before; number < after; number++) {
      if (number === 55) say(client, { type: 'gap', ms: 300 });
      client.socket.send(Buffer.alloc(160, number));
    }
    const { samples } = await client.until('ack', ack => ack.messages === after);
    t.is(samples, after * 80 + (after > 55 ? 300 * 8 : 0));
    client.socket.close();
    await client.closed;
  }
});

test('a failing database is not reported as a failure of the recogniser', async t => {
  const server = await openServer(t, countingStt());
  const client = await connectListen(server.url, server.key, PCM);
  await client.until('service_status', event => event.status === 'ready');
  const database = join(server.dataDir, 'earshot.db');
  await changeDatabase(database, 'alter table segments rename to lost');
  send(client, joined(speech('budget'), silence(1)));
  t.is((await client.closed).code, 1013);
  await changeDatabase(database, 'alter table lost rename to segments');
  const states = client.events.flatMap(event => (event.type === 'service_status' ? [event.status] : []));
  t.is(states.at(-1), 'ready');
});

test('impossible times are rejected, and conversations stay readable', async t => {
  const server = await openServer(t, countingStt());
  const client = await connectListen(server.url, server.key, { ...PCM, custom_stt: 'enabled' });
  suggest(client, 'beyond', 1e13, 1e13);
  t.is((await client.until('error')).code, 'invalid_message');
  suggest(client, 'within', 1, 2);
  say(client, { type: 'finish_conversation' });
  await client.until('memory_created');
  t.deepEqual(await texts(server), [['within']]);
  client.socket.close();
});

test("suggested transcripts stay on their side of a conversation's end", async t => {
  const server = await openServer(t, countingStt());
  const client = await connectListen(server.url, server.key, { ...PCM, custom_stt: 'enabled' });
  for (let at = 0; at < 5; at++) {
    suggest(client, `number ${at}`, at, at + 1);
    say(client, { type: 'finish_conversation' });
  }
  const created = () => client.events.filter(event => event.type === 'memory_created');
  await client.until('memory_created', () => created().length === 5);
  t.deepEqual(await texts(server), [['number 0'], ['number 1'], ['number 2'], ['number 3'], ['number 4']]);
  const sessions = client.events.flatMap(it =>
    it.type === 'conversation_session' ? [it.conversation_id] : [],
  );
  t.deepEqual([...new Set(sessions)], sessions, 'each conversation is told once');
  client.socket.close();
});

test('a browser that has not signed in yet is closed with 1012 when the server stops', async t => {
  const server = await openServer(t, countingStt());
  const client = await connectListen(server.url, null, PCM, '/v4/web/listen');
  const stopped = server.app.stop();
  t.is((await client.closed).code, 1012);
  await stopped;
});

test('simultaneous connections do not exceed the configured number', async t => {
  const server = await openServer(t, { ...countingStt(), listen: { maxConnectionsPerUser: 3 } });
  const attempts = await Promise.allSettled(
    Array.from({ length: 12 }, (_, n) =>
      connectListen(server.url, server.key, { ...PCM, client_device_id: n }),
    ),
  );
  const clients = attempts.flatMap(attempt => (attempt.status === 'fulfilled' ? [attempt.value] : []));
  const outcomes = await Promise.all(
    clients.map(client =>
      Promise.race([
        client.until('conversation_session').then(() => 'served'),
        client.closed.then(({ code }) => code),
      ]).catch(async () => (await client.closed).code),
    ),
  );
  t.is(outcomes.filter(outcome => outcome === 'served').length, 3, String(outcomes));
  t.true(
    outcomes.every(outcome => outcome === 'served' || outcome === 1013),
    String(outcomes),
  );
  for (const client of clients) client.socket.close();
});

test('a recording that is already transcribed still ends its conversation on request', async t => {
  const server = await openServer(t, countingStt());
  const query = { ...PCM, stream: 'told', from: 0, client_device_id: 'told' };
  const first = await connectListen(server.url, server.key, query);
  send(first, joined(speech('budget'), silence(1)));
  first.socket.close();
  await allIsText(server, 1);
  const second = await connectListen(server.url, server.key, query);
  const { conversation_id: id } = await second.until('conversation_session');
  say(second, { type: 'finish_conversation' });
  t.is((await second.until('conversation_finished')).conversation_id, id);
  second.socket.close();
});

/** Resolves when this many messages of the stream are done. */
async function allIsText(server: TestServer, messages: number): Promise<void> {
  const database = openDatabase(join(server.dataDir, 'earshot.db'), { readonly: true });
  const query = database.prepare('select received from streams');
  await eventually(() => query.get()?.received === messages);
  database.close();
}
