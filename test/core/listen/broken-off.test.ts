import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { fastClock } from '../../helpers/fast-clock.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';
import { judge } from '../../torture/judge.ts';
import { emptied, TONES_CONFIG } from '../../torture/run.ts';
import { createScript, MESSAGE_MS } from '../../torture/script.ts';

const QUERY = { codec: 'pcm16', sample_rate: 16_000, conversation_timeout: 14_400, ack: 'enabled' };
const MESSAGE_SAMPLES = 1600;
const SAID = joined(silence(1), speech('budget'), silence(1));
const SAMPLES_OF_HALF = Math.round(SAID.length / 2 / MESSAGE_SAMPLES) * MESSAGE_SAMPLES;

interface Stored {
  id: string;
  source: string;
  started_at: string | null;
  transcript_segments: { text: string; start: number; end: number }[];
}

const connect = (server: TestServer, stream: string, query: Record<string, string | number> = {}) =>
  connectListen(server.url, server.key, { ...QUERY, stream, client_device_id: stream, ...query });

/** Resolves when all of it is stored on disk. */
async function send(client: ListenClient, from: number, samples: Int16Array): Promise<number> {
  let messages = from;
  for (let at = 0; at < samples.length; at += MESSAGE_SAMPLES, messages++)
    client.socket.send(samplesToBytes(samples.subarray(at, at + MESSAGE_SAMPLES)));
  await client.until('ack', ack => ack.messages === messages);
  return messages;
}

/** Resolves to the outcomes once everything said so far is text. */
async function finished(server: TestServer, client: ListenClient): Promise<Stored> {
  client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  const { conversation_id: id } = await client.until('conversation_finished');
  client.socket.close();
  return stored(server, id ?? '');
}

async function stored(server: TestServer, id: string): Promise<Stored> {
  const { body } = await server.get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
  return body as Stored;
}

/** Resolves once an utterance is in progress. */
async function heard(server: TestServer): Promise<void> {
  const held = /^earshot_queue_bytes\{queue="speech"\} [1-9]/m;
  while (!held.test(await (await fetch(`${server.url}/metrics`)).text()));
}

/** Ends the first connection in the middle of speech; returns the server for the reconnect. */
type Break = (
  first: ListenClient,
  server: TestServer,
  again: () => Promise<TestServer>,
) => Promise<TestServer>;

const BREAKS: Record<string, Break> = {
  'is lost': async (first, server) => {
    first.socket.terminate();
    return server;
  },
  'is half open': async (_, server) => server,
  'is closed by a stopping server': async (first, server, again) => {
    await server.stop();
    await first.closed;
    return again();
  },
};

for (const [what, breakOff] of Object.entries(BREAKS)) {
  test(`an utterance during which a connection ${what} stays one utterance after the reconnect`, async t => {
    const dataDir = await mkdtemp(join(tmpdir(), 'earshot-'));
    t.teardown(() => rm(dataDir, { recursive: true }));
    const clock = fastClock(t);
    clock.hasten(1 / 4); // it is awaited, however slow this machine is
    const open = () => openServer(t, { ...countingStt(), dataDir }, { clock });
    const server = await open();
    const first = await connect(server, 'broken');
    const sent = await send(first, 0, SAID.subarray(0, SAMPLES_OF_HALF));
    await heard(server);
    const next = await breakOff(first, server, open);

    const second = await connect(next, 'broken', { from: sent });
    await send(second, sent, SAID.subarray(SAMPLES_OF_HALF));
    const { transcript_segments: broken } = await finished(next, second);
    const control = await connect(next, 'whole');
    await send(control, 0, SAID);
    const { transcript_segments: whole } = await finished(next, control);
    const placed = ({ text, start, end }: (typeof whole)[0]) => ({ text, start, end });
    t.is(whole.length, 1);
    t.deepEqual(broken.map(placed), whole.map(placed));
  });
}

/** Positions in a number at which it is cut off, in ms: with little of it on one side, and in between. */
const CUTS_MS = [0, 20, 40, 60, 80, 100, 120, 400, 680, 700, 720, 740, 760, 780, 800];

test('an utterance whose client reconnects too late is split in two, and nothing is lost at any cut', async t => {
  const clock = fastClock(t);
  const server = await openServer(t, TONES_CONFIG, { clock });
  clock.hasten(20);
  const talks = await Promise.all(
    CUTS_MS.map(async (cutMs, device) => {
      const script = createScript({ device, codec: 'pcm16', pausesMs: [1200] });
      const messages: Uint8Array[] = [];
      for (let message = script.next(); message; message = script.next()) {
        messages.push(message.bytes);
        if (script.places.length === 2) script.end();
      }
      const cut = ((script.places[1] ?? 0) + cutMs) / MESSAGE_MS;
      const name = `cut ${cutMs} ms into it`;
      const client = await connect(server, name);
      const { conversation_id: id } = await client.until('conversation_session');
      for (const bytes of messages.slice(0, cut)) client.socket.send(bytes);
      await client.until('ack', ack => ack.messages === cut);
      client.socket.terminate();
      return { device, id, name, rest: messages.slice(cut), cut, places: script.places };
    }),
  );
  await emptied(join(server.dataDir, 'audio'));

  for (const { device, id, name, rest, cut, places } of talks) {
    const client = await connect(server, name, { from: cut });
    t.is((await client.until('conversation_session')).received, cut, 'it was waited for, and no longer');
    for (const bytes of rest) client.socket.send(bytes);
    const conversation = await finished(server, client);
    t.is(conversation.id, id);
    const spoken = { device, source: conversation.source, places, startedAt: null };
    const { losses, doubles, debris, worstErrorMs } = judge([conversation], [spoken]);
    t.deepEqual({ losses, doubles, debris }, { losses: [], doubles: [], debris: [] }, name);
    t.true(worstErrorMs < 100, `${name}: ${worstErrorMs} ms`);
  }
});
