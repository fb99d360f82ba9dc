import test from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { coreProcess } from '../../helpers/core-process.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';

const BEGAN_AT = Date.UTC(2026, 0, 2, 3, 4, 5);
const QUERY = {
  codec: 'pcm16',
  sample_rate: 16_000,
  client_device_id: 'recorder',
  started_at: new Date(BEGAN_AT).toISOString(),
};
const LIST = '/v1/dev/user/conversations?include_transcript=true';
/** Number of utterances in the long recording, and its speakers. */
const UTTERANCES = 250;
const SPEAKERS = 20;
const SAID = speech('budget');
const SAID_S = SAID.length / 16_000;

interface Stored {
  id: string;
  started_at: string;
  finished_at: string;
  structured: { title: string };
  transcript_segments: { id: string; start: number; end: number }[];
}

const send = (client: ListenClient, samples: Int16Array) => client.socket.send(samplesToBytes(samples));

async function list(server: TestServer): Promise<Stored[]> {
  const { status, body } = await server.get(LIST);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body as Stored[];
}

test('a day recorded earlier gets the conversations and times it had', async t => {
  const server = await openServer(t, countingStt());
  const client = await connectListen(server.url, server.key, { ...QUERY, conversation_timeout: 120 });
  // Seconds after the speech: recorded silence, then a gap without audio.
  const pauses = [
    [5, 0],
    [1, 100],
    [1, 3600],
    [4, 60],
    [121, 0],
    [1, 7200.5],
    [2, 0],
  ] as const;
  const expected: number[][] = [[]];
  let at = BEGAN_AT;
  for (const [silent, away] of pauses) {
    expected.at(-1)?.push(at + SAID_S * 1000);
    send(client, SAID);
    for (let second = 0; second < silent; second++) send(client, silence(1));
    if (away > 0) client.socket.send(JSON.stringify({ type: 'gap', ms: away * 1000 }));
    at += (SAID_S + silent + away) * 1000;
    if (silent + away > 120) expected.push([]);
  }
  client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  const stored = await eventually(
    () => list(server),
    ({ length }) => length === expected.length,
  );
  const found = stored
    .map(({ started_at, transcript_segments: segments }) =>
      segments.map(({ end }) => Date.parse(started_at) + end * 1000),
    )
    .sort(([a = 0], [b = 0]) => a - b);
  client.socket.close();
  t.deepEqual(
    found.map(({ length }) => length),
    expected.map(({ length }) => length),
  );
  const beyond = (found[0]?.[0] ?? 0) - (expected[0]?.[0] ?? 0); // the silence that ends the speech
  for (const [i, said] of expected.flat().entries()) {
    const end = (found.flat()[i] ?? 0) - beyond;
    t.true(
      Math.abs(end - said) <= 100,
      `${i}: ${new Date(end).toISOString()}, said ${new Date(said).toISOString()}`,
    );
  }
});

test(`four hours that become ${UTTERANCES * SPEAKERS} segments are one conversation, read whole and in order`, async t => {
  const core = await coreProcess(t, countingStt({ speakers: SPEAKERS }));
  const client = await connectListen(core.url, core.key, { ...QUERY, conversation_timeout: 600 });
  await client.until('service_status', event => event.status === 'ready');
  const word = joined(SAID.subarray(0, 20_000), silence(0.5));
  const everyMs = (4 * 3600 * 1000) / UTTERANCES;
  for (let n = 0; n < UTTERANCES; n++) {
    send(client, word);
    client.socket.send(JSON.stringify({ type: 'gap', ms: everyMs - word.length / 16 }));
  }
  client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  await client.until('memory_created');
  client.socket.close();

  const [whole, ...others] = (await core.get(LIST)) as Stored[];
  t.deepEqual(others, []);
  t.not(whole?.structured.title, '');
  const segments = whole?.transcript_segments ?? [];
  t.is(segments.length, UTTERANCES * SPEAKERS);
  t.is(new Set(segments.map(({ id }) => id)).size, segments.length);
  const first = segments[SPEAKERS - 1]?.end ?? 0;
  for (const [i, { start, end }] of segments.entries()) {
    t.true(start >= (segments[i - 1]?.end ?? 0), `segment ${i} begins at ${start} s`);
    const utterance = Math.floor(i / SPEAKERS);
    if (i % SPEAKERS === SPEAKERS - 1)
      t.true(Math.abs(end - first - (utterance * everyMs) / 1000) <= 0.1, `segment ${i} ends at ${end} s`);
  }
});
