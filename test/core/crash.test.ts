import test from 'ava';
import { samplesToBytes } from '../../core/audio/pcm.ts';
import { callControl, controlPath } from '../../core/control/control.ts';
import { type CoreProcess, coreProcess } from '../helpers/core-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../helpers/listen-client.ts';
import { countingStt, failingStt } from '../helpers/services.ts';
import { join as joined, silence, speech } from '../helpers/sound.ts';
import { amount, isThorough } from '../helpers/thorough.ts';

const CHUNK_SAMPLES = 1600;
const QUERY = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 3, client_device_id: 'pendant' };

interface Imported {
  id: string;
  status: string;
  discarded: boolean;
}

interface Item {
  id: string;
  description: string;
}

interface Stored {
  id: string;
  status: string;
  transcript_segments: { id: string; text: string; start: number; end: number }[];
}

/** Utterances with pauses long enough that each is a segment of its own. */
const UTTERANCES = 6;
const TALK = joined(...Array.from({ length: UTTERANCES }, () => [speech('budget'), silence(4)]).flat());

function send(client: ListenClient, samples: Int16Array): void {
  for (let at = 0; at < samples.length; at += CHUNK_SAMPLES)
    client.socket.send(samplesToBytes(samples.subarray(at, at + CHUNK_SAMPLES)));
}

/** Returns all conversations once the server has finished them by itself. */
async function finished(core: CoreProcess): Promise<Stored[]> {
  const path = '/v1/dev/user/conversations?include_transcript=true';
  return eventually(
    async () => (await core.get(path)) as Stored[],
    ({ length }) => length > 0,
  );
}

/** Number of segments after which the server is killed. */
const MOMENTS = isThorough ? [1, 4] : [4];

for (const segments of MOMENTS) {
  test(`killed after ${segments} segments, core has each of them once, and ends the conversation without a client`, async t => {
    const core = await coreProcess(t, countingStt());
    const client = await connectListen(core.url, core.key, { ...QUERY, conversation_timeout: 5 });
    send(client, TALK);
    await client.until('segments', () => client.segments().length >= segments);
    await core.kill();
    await client.closed;
    const received = client.segments();

    await core.start();
    const conversations = await finished(core);
    t.is(conversations.length, 1);
    t.is(conversations[0]?.status, 'completed');
    const stored = conversations[0]?.transcript_segments ?? [];
    t.is(new Set(stored.map(({ id }) => id)).size, stored.length, 'no segment is there twice');
    for (const { id, text, start, end } of received)
      t.like(
        stored.find(segment => segment.id === id),
        { text, start, end },
        `segment at ${start} s`,
      );
  });
}

test('a client that resumes after the kill loses nothing and duplicates nothing', async t => {
  const core = await coreProcess(t, countingStt());
  const query = { ...QUERY, conversation_timeout: 600, stream: 'talk', from: 0 };
  const first = await connectListen(core.url, core.key, query);
  send(first, TALK);
  await first.until('segments', () => first.segments().length >= 3);
  await core.kill();
  await first.closed;

  await core.start();
  const second = await connectListen(core.url, core.key, query);
  send(second, TALK);
  second.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  await second.until('memory_created');
  second.socket.close();

  const control = await connectListen(core.url, core.key, {
    ...query,
    stream: 'control',
    client_device_id: 'control',
  });
  send(control, TALK);
  control.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  const undisturbed = await control.until('memory_created');
  control.socket.close();

  const list = (await core.get('/v1/dev/user/conversations?include_transcript=true')) as Stored[];
  const expected = list.find(({ id }) => id === undisturbed.memory.id)?.transcript_segments ?? [];
  const resumed = list.find(({ id }) => id !== undisturbed.memory.id)?.transcript_segments ?? [];
  t.is(expected.length, UTTERANCES);
  t.is(resumed.length, expected.length);
  for (const [i, segment] of expected.entries()) {
    t.true(Math.abs((resumed[i]?.start ?? 0) - segment.start) <= 0.1, `start of segment ${i}`);
    t.true(Math.abs((resumed[i]?.end ?? 0) - segment.end) <= 0.1, `end of segment ${i}`);
  }
});

test('killed amid imports and edits, core keeps what it acknowledged, and finishes the imports at its next start', async t => {
  const core = await coreProcess(t, { ...countingStt(), rateLimits: { enabled: false } });
  const scopes = ['conversations:write', 'action_items:read', 'action_items:write'];
  const made = await callControl(controlPath(core.dataDir), 'key', { user: 'owner', scopes });
  if (made === 'absent') return t.fail('core does not answer');
  async function send<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const headers = {
      Authorization: `Bearer ${made === 'absent' ? '' : made.key}`,
      'Content-Type': 'application/json',
    };
    const url = new URL(`/v1/dev/user/${path}`, core.url);
    const response = await fetch(url, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
    if (response.status !== 200)
      throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Answer;
  }
  const AT_ONCE = amount(20, 50);
  const drafts = Array.from({ length: AT_ONCE }, (_, at) => ({ description: `Task ${at}` }));
  const { action_items: items } = await send<{ action_items: Item[] }>('POST', 'action-items/batch', {
    action_items: drafts,
  });
  const transcript_segments = Array.from({ length: 100 }, (_, at) => ({
    ...{ text: `We planned part ${at} of the garden. `.repeat(8), start: at * 4, end: at * 4 + 2 },
  }));
  const bringIn = (at: number) =>
    send<Imported>('POST', 'conversations/from-segments', {
      client_session_id: `${at}`,
      transcript_segments,
    });
  /** Imports one by one until the kill, which therefore hits some that are unanswered. */
  const answered: Imported[] = [];
  const first = Promise.withResolvers<void>();
  let asked = 0;
  const importers = Array.from({ length: AT_ONCE }, async () => {
    for (;;) {
      const made = await bringIn(asked++).catch(() => null);
      if (made === null) return;
      answered.push(made);
      first.resolve();
    }
  });
  const edits = items.map(({ id }, at) =>
    send<Item>('PATCH', `action-items/${id}`, { description: `Edited ${at}` }).catch(() => null),
  );
  await first.promise;
  await core.kill();
  await Promise.all(importers);
  const edited = (await Promise.all(edits)).filter(each => each !== null);
  t.log(`${answered.length} of ${asked} imports were answered`);

  await core.start();
  // A lease of the killed process lasts 60 s, and an import is answered after 20 s, completed or not.
  const again = await eventually(
    () => Promise.all(Array.from({ length: asked }, (_, at) => bringIn(at))),
    imports => imports.every(({ status }) => status !== 'processing'),
  );
  t.deepEqual(
    again.filter(({ status, discarded }) => status !== 'completed' || discarded),
    [],
  );
  const ids = new Set(again.map(({ id }) => id));
  t.is(ids.size, asked);
  t.true(answered.every(({ id }) => ids.has(id)));
  const list = await send<Item[]>('GET', 'action-items?limit=1000');
  t.is(list.length, AT_ONCE);
  for (const each of edited)
    t.deepEqual(
      list.find(({ id }) => id === each.id),
      each,
    );
});

test('killed before it transcribed anything, core transcribes all received audio without the client', async t => {
  const { begin, end, ...stt } = await failingStt(t);
  await begin();
  const core = await coreProcess(t, stt);
  const client = await connectListen(core.url, core.key, {
    ...QUERY,
    conversation_timeout: 5,
    ack: 'enabled',
  });
  send(client, TALK);
  const messages = Math.ceil(TALK.length / CHUNK_SAMPLES);
  await client.until('ack', event => event.messages === messages);
  await core.kill();
  await client.closed;
  t.deepEqual(client.segments(), []);

  await end();
  await core.start();
  const [conversation, ...others] = await finished(core);
  t.deepEqual(others, []);
  t.is(conversation?.transcript_segments.length, UTTERANCES);
  const every = TALK.length / UTTERANCES / 16_000;
  const [, second, ...starts] = conversation?.transcript_segments.map(({ start }) => start) ?? [];
  for (const [i, start] of starts.entries())
    t.true(Math.abs(start - (second ?? 0) - (i + 1) * every) <= 0.1, `segment ${i + 2} at ${start} s`);
});
