import test, { type ExecutionContext } from 'ava';
import { textOf } from '../../../helpers/openapi.ts';
import { openRest } from '../../../helpers/rest.ts';

interface Told {
  id: string;
  event: string;
  data: Record<string, unknown>;
}

type Rest = Awaited<ReturnType<typeof openRest>>;

/** A client of the stream on a real connection. */
async function listen(t: ExecutionContext, { url, token }: Rest, { key = token, lastId = '' } = {}) {
  const ended = new AbortController();
  const response = await fetch(`${url}/v1/events`, {
    headers: { Authorization: `Bearer ${key}`, ...(lastId === '' ? {} : { 'Last-Event-ID': lastId }) },
    signal: ended.signal,
  });
  if (response.status !== 200) return { status: response.status, body: await textOf(response) } as never;
  const told: Told[] = [];
  const waiting = new Set<() => void>();
  let isOver = false;
  const notify = () => {
    for (const look of waiting) look();
  };
  (async () => {
    let text = '';
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
        if (field('event') !== '')
          told.push({ id: field('id'), event: field('event'), data: JSON.parse(field('data')) });
      }
      notify();
    }
  })()
    .catch(() => {})
    .finally(() => {
      isOver = true;
      notify();
    });
  const until = (holds: () => boolean) =>
    new Promise<void>(resolve => {
      const look = () => {
        if (!holds()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  const close = () => ended.abort();
  t.teardown(close);
  return {
    status: 200,
    response,
    told,
    close,
    names: () => told.map(({ event, data }) => `${event} ${data.change ?? ''}`.trim()),
    count: (count: number) => until(() => told.length >= count),
    over: () => until(() => isOver),
  };
}

async function say(rest: Rest, conversationId: string, text: string) {
  const startAt = rest.clock.now();
  await rest.conversations.append({
    ...{ userId: rest.user.id, conversationId, stream: null, startedAt: startAt },
    pieces: [{ text, startAt, endAt: startAt + 1000, speaker: 'SPEAKER_01', sttProvider: null }],
  });
}

function open({ conversations, user }: Rest) {
  return conversations.open({
    ...{ userId: user.id, source: 'omi', deviceId: null, language: 'en', timeoutMs: 60_000 },
  });
}

test('a client receives the current state, then segments and changes', async t => {
  const rest = await openRest(t);
  const { id } = await open(rest);
  rest.events.emit('device', { userId: rest.user.id, device: 'Omi', source: 'omi', isConnected: true });
  const stream = await listen(t, rest);
  t.is(stream.response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  await stream.count(1);
  t.deepEqual(stream.told[0]?.data, {
    conversations: [{ conversation_id: id, status: 'in_progress' }],
    devices: [{ device: 'Omi', source: 'omi' }],
  });
  await say(rest, id, 'Shall we have <b>tea</b>?');
  await rest.memories.create(rest.user.id, [
    { content: 'Likes tea.', category: 'other', visibility: 'private', tags: [] },
  ]);
  const [task] = await rest.actionItems.create(rest.user.id, [
    { description: 'Buy tea', completed: false, dueAt: null },
  ]);
  await rest.actionItems.edit(rest.user.id, task?.id ?? '', { completed: true });
  await rest.conversations.finish(rest.user.id, id);
  rest.events.emit('device', { userId: rest.user.id, device: 'Omi', source: 'omi', isConnected: false });
  await stream.count(7);
  t.deepEqual(stream.names(), [
    'ready',
    'segments',
    'memory created',
    'action_item created',
    'action_item changed',
    'conversation processing',
    'device',
  ]);
  const [segment] = (stream.told[1]?.data.segments ?? []) as Record<string, unknown>[];
  t.is(segment?.text, 'Shall we have <b>tea</b>?');
  t.is(segment?.speaker_name, 'Speaker 1');
  t.is(stream.told[1]?.data.conversation_id, id);
});

test('a client is told about the wearables of its user', async t => {
  const rest = await openRest(t);
  const stream = await listen(t, rest);
  await stream.count(1);
  const omi = { id: 'omi_1', name: 'Omi', source: 'omi', state: 'streaming', battery: 80 };
  const report = (devices: object[]) => rest.send('PUT', '/v1/bridges/b', { name: 'Kitchen', devices });
  await report([omi]);
  await report([{ ...omi, battery: 79 }]);
  await rest.send('DELETE', '/v1/devices/omi_1');
  await stream.count(4);
  t.deepEqual(
    stream.told.slice(1).map(({ event, data }) => [event, data.device_id, data.event]),
    [
      ['device_event', 'omi_1', 'connected'],
      ['device_event', 'omi_1', 'changed'],
      ['device_event', 'omi_1', 'removed'],
    ],
  );
  t.like(stream.told[2]?.data.device, { name: 'Omi', battery: 79, bridge: { name: 'Kitchen' } });
});

test('a reconnected client receives the events it missed, and none twice', async t => {
  const rest = await openRest(t);
  const { id } = await open(rest);
  const first = await listen(t, rest);
  await first.count(1);
  await say(rest, id, 'One.');
  await first.count(2);
  first.close();
  await say(rest, id, 'Two.');
  rest.clock.advance(10_000);
  await say(rest, id, 'Three.');
  const again = await listen(t, rest, { lastId: first.told[1]?.id ?? '' });
  await again.count(2);
  await say(rest, id, 'Four.');
  await again.count(3);
  t.deepEqual(
    again.told.map(({ event, data }) => [event, (data.segments as { text: string }[])[0]?.text]),
    [
      ['segments', 'One. Two.'],
      ['segments', 'Three.'],
      ['segments', 'Three. Four.'],
    ],
  );
  for (const lastId of ['nonsense', `00-1`, `${first.told[1]?.id}999`]) {
    const lost = await listen(t, rest, { lastId });
    await lost.count(1);
    t.is(lost.told[0]?.event, 'ready', lastId);
  }
});

test('marks are announced with their times', async t => {
  const rest = await openRest(t);
  const { id } = await open(rest);
  const stream = await listen(t, rest);
  await stream.count(1);
  const mark = await rest.marks.add(rest.user.id, { conversationId: id });
  await rest.marks.remove(rest.user.id, mark.id);
  await stream.count(3);
  const data = { mark_id: mark.id, conversation_id: id, at: new Date(mark.at).toISOString() };
  t.deepEqual(
    stream.told.slice(1).map(({ event, data }) => ({ event, data })),
    (['created', 'removed'] as const).map(change => ({ event: 'mark', data: { ...data, change } })),
  );
});

test('a key receives the events of its scopes, and never those of another account', async t => {
  const rest = await openRest(t);
  const { key } = await rest.keys.create(rest.user.id, { name: 'wall', scopes: ['conversations:read'] });
  const stranger = await rest.users.add('ben');
  const [own, others] = [
    await listen(t, rest, { key }),
    await listen(t, rest, { key: await rest.users.token('ben') }),
  ];
  await Promise.all([own.count(1), others.count(1)]);
  await rest.memories.create(rest.user.id, [
    { content: 'Likes tea.', category: 'other', visibility: 'private', tags: [] },
  ]);
  const { id } = await open(rest);
  await own.count(2);
  t.deepEqual(own.names(), ['ready', 'conversation created']);
  t.is(own.told[1]?.data.conversation_id, id);
  await rest.actionItems.create(stranger.id, [{ description: 'Own', completed: false, dueAt: null }]);
  await others.count(2);
  t.deepEqual(others.names(), ['ready', 'action_item created']);
  const listening = await rest.keys.create(rest.user.id, { name: 'pendant', scopes: ['listen'] });
  t.is((await listen(t, rest, { key: listening.key })).status, 403);
});

test('a stream ends when its credential is revoked', async t => {
  const rest = await openRest(t);
  const {
    key,
    record: { id },
  } = await rest.keys.create(rest.user.id, { name: 'wall', scopes: ['conversations:read'] });
  const [byKey, byToken] = [await listen(t, rest, { key }), await listen(t, rest)];
  await Promise.all([byKey.count(1), byToken.count(1)]);
  await rest.keys.remove(rest.user.id, id);
  await byKey.over();
  t.is((await listen(t, rest, { key })).status, 401);
  await rest.users.signOut('anna');
  await byToken.over();
  t.is((await listen(t, rest)).status, 401);
});

test('an account has at most twenty streams, and one that ends makes room', async t => {
  const rest = await openRest(t);
  const streams = await Promise.all(Array.from({ length: 20 }, () => listen(t, rest)));
  await Promise.all(streams.map(stream => stream.count(1)));
  t.is((await listen(t, rest)).status, 429);
  streams[0]?.close();
  for (;;) {
    const { status } = await listen(t, rest);
    if (status === 200) break;
    await new Promise(resolve => setImmediate(resolve));
  }
  t.is((await listen(t, rest)).status, 429, 'for one, and no more');
});
