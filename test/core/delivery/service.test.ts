import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Hook, Segment } from '../../../core/contract/model.ts';
import type { Capabilities, WebhookType } from '../../../core/contract/plugin.ts';
import type { Answered } from '../../../core/delivery/answers.ts';
import { createOutbound } from '../../../core/delivery/outbound.ts';
import { createDelivery } from '../../../core/delivery/service.ts';
import { newId } from '../../../core/domain/ids.ts';
import { createMetrics } from '../../../core/runtime/metrics.ts';
import { app, hook, installation } from '../../../plugins/kit/suites/storage/outbound-rows.ts';
import audioBytes from '../../../plugins/webhook/audio-bytes/index.ts';
import conversationCreated from '../../../plugins/webhook/conversation-created/index.ts';
import deviceEvent from '../../../plugins/webhook/device-event/index.ts';
import transcriptProcessed from '../../../plugins/webhook/transcript-processed/index.ts';
import { completedConversation } from '../../helpers/domain.ts';
import { type Behaviour, behaviours, startReceiver, status } from '../../helpers/receiver.ts';
import { openRest } from '../../helpers/rest.ts';

const webhooks = [audioBytes, conversationCreated, deviceEvent, transcriptProcessed].map(plugin => {
  const { webhook }: Capabilities = plugin.setup();
  return webhook as WebhookType; // all of them have one
});

/** Opens the delivery service with a stopped clock, and a receiver. */
async function open(t: ExecutionContext, behaviour?: Behaviour) {
  const rest = await openRest(t);
  const { storage, clock, user } = rest;
  const receiver = await startReceiver(t, behaviour);
  const outbound = createOutbound({ allowHosts: ['127.0.0.1'], clock });
  const answers: Answered[] = [];
  const toldOff: string[] = [];
  const metrics = createMetrics({ now: () => 0, plugins: () => [], jobs: async () => [] });
  const delivery = createDelivery({
    ...rest,
    metrics,
    outbound,
    webhooks: () => webhooks,
    channel: () => t.fail() as never,
    notifyOwner: async (_tx, target) => void toldOff.push(target.id),
    answered: async answer => void answers.push(answer),
  });
  delivery.start();
  const stop = async () => {
    await delivery.stop();
    await outbound.close();
  };
  t.teardown(stop);

  async function hooked(type: string, changes: Partial<Hook> = {}): Promise<Hook> {
    const row = hook(newId(clock.now()), user.id, { type, url: receiver.url, ...changes });
    await storage.hooks.put(row);
    return row;
  }

  const say = (text: string, more: Partial<Segment> = {}) =>
    rest.events.emit('segments', {
      userId: user.id,
      conversationId: 'c1',
      segments: [{ ...SEGMENT, userId: user.id, text, ...more }],
    });
  const textsOf = () =>
    receiver.received.map(({ body }) =>
      JSON.parse(String(body))
        .segments.map((s: Segment) => s.text)
        .join(),
    );

  /** Waits for the recorded outcomes of this many live deliveries. */
  async function logged(count: number) {
    for (;;) {
      const log = await storage.deliveries.list(user.id, { limit: 200 });
      if (log.length >= count) return log;
      await turn();
      clock.advance(100); // it is written a little later
    }
  }

  /** Closes, and returns the outcomes of the rest. */
  async function closed() {
    const closing = delivery.live.close();
    clock.advance(2000);
    await closing;
    return storage.deliveries.list(user.id, { limit: 200 });
  }
  return { ...rest, receiver, delivery, metrics, answers, toldOff, hooked, say, textsOf, logged, closed };
}

const SEGMENT: Segment = {
  ...{ id: 's1', userId: '', conversationId: 'c1', text: '', start: 0, end: 1, speaker: 'SPEAKER_00' },
  ...{ speakerId: 0, isUser: false, personId: null, sttProvider: null },
  ...{ language: null, translations: null, profileCompared: false },
};

test('a completed conversation is sent once, as the API returns it, and can be replayed', async t => {
  const { hooked, user, receiver, storage, clock, conversations, asked, ...rest } = {
    ...(await open(t)),
    asked: [] as string[],
  };
  const target = await hooked('memory_created');
  const { id, segments } = await completedConversation({ ...rest, conversations, clock }, user.id, [
    'Tea?',
    'Yes.',
  ]);
  await receiver.arrived(1);
  const [told] = receiver.received;
  const answer = await fetch(`${rest.url}/v1/dev/user/conversations/${id}?include_transcript=true`, {
    headers: { Authorization: `Bearer ${rest.token}` },
  });
  t.deepEqual(JSON.parse(String(told?.body)), await answer.json());
  t.is(told?.path, `/hook?uid=${user.id}`);
  await conversations.correct(user.id, id, segments[0]?.id ?? '', { text: 'Coffee?' });
  const structured = {
    title: 'New',
    overview: '',
    category: 'other',
    emoji: '',
    actionItems: [],
    events: [],
  };
  t.true(await conversations.revise(user.id, id, structured), 'processed once more');
  await completedConversation({ ...rest, conversations, clock }, user.id, ['Bye.']);
  await receiver.arrived(2);
  t.false(String(receiver.received[1]?.body).includes(id), 'told of once');
  const log = await storage.deliveries.list(user.id, { targetId: target.id, limit: 9 });
  t.is(log.length, 2);
  await conversations.remove(user.id, id);
  const bodies = await Promise.all(log.map(each => storage.deliveries.get(user.id, each.id)));
  t.deepEqual(
    bodies.map(each => each?.body === null),
    log.map(({ subject }) => subject === id),
    'of one that is deleted the log keeps nothing',
  );
});

test('a discarded conversation is not sent, nor one of another user', async t => {
  const { hooked, user, users, receiver, clock, conversations, storage } = await open(t);
  await hooked('memory_created');
  const { id } = await conversations.open({
    userId: user.id,
    source: 'omi',
    deviceId: null,
    language: 'en',
    timeoutMs: 1000,
  });
  const startedAt = clock.now();
  const piece = {
    text: 'um',
    startAt: startedAt,
    endAt: startedAt + 500,
    speaker: 'SPEAKER_00',
    sttProvider: 't',
  };
  await conversations.append({
    userId: user.id,
    conversationId: id,
    stream: null,
    startedAt,
    pieces: [piece],
  });
  await conversations.finish(user.id, id);
  await conversations.discard(user.id, id);
  const ben = await users.add('ben');
  await completedConversation({ conversations, clock }, ben.id, ['Hello.']);
  await completedConversation({ conversations, clock }, user.id, ['Bye.']);
  await receiver.arrived(1);
  t.is(receiver.received[0]?.path, `/hook?uid=${user.id}`);
  t.deepEqual(await storage.deliveries.list(ben.id, { limit: 9 }), []);
});

test('events of a wearable are sent in order', async t => {
  const { hooked, devices, user, receiver } = await open(t);
  const target = await hooked('device_event');
  const omi = {
    ...{ id: 'omi_1', name: 'Omi', source: 'omi', driver: 'omi', model: null, firmware: null, reason: null },
    ...{ codec: 'opus', battery: 80, rssi: -60, storageFreeBytes: null, frames: 0, lost: 0, notes: [] },
  };
  const bridge = { id: 'kitchen', name: 'Kitchen', version: null };
  const report = (state: 'streaming' | 'disconnected', battery: number, buttons: 'single'[] = []) =>
    devices.report(user.id, {
      bridge,
      devices: [{ ...omi, state, battery }],
      buttons: buttons.map(button => ({ id: 'omi_1', button, at: 1_000_000_000_000 })),
    });
  await report('streaming', 80, ['single']);
  await receiver.arrived(2);
  await report('streaming', 79);
  await report('disconnected', 12);
  await receiver.arrived(4);
  const bodies = receiver.received.map(({ body }) => JSON.parse(String(body)));
  t.deepEqual(
    bodies.map(({ event, button, device }) => [event, button, device.state]),
    [
      ['connected', null, 'streaming'],
      ['button', 'single', 'streaming'],
      ['disconnected', null, 'disconnected'],
      ['battery_low', null, 'disconnected'],
    ],
  );
  t.is(bodies[1].at, '2001-09-09T01:46:40.000Z');
  t.is(receiver.received[0]?.path, `/hook?uid=${user.id}`);
  t.is(target.type, 'device_event');
});

test('segments are sent in order, each with its id, and every attempt is logged', async t => {
  const { hooked, say, textsOf, receiver, logged, storage, user } = await open(t);
  const target = await hooked('transcript_processed');
  for (const text of ['one', 'two', 'three']) say(text);
  await receiver.arrived(3);
  t.deepEqual(textsOf(), ['one', 'two', 'three']);
  t.is(receiver.received[0]?.path, `/hook?session_id=c1&uid=${user.id}`);
  const log = await logged(3);
  t.deepEqual(
    log.map(({ state, attempts, targetId }) => ({ state, attempts, targetId })),
    Array(3).fill({ state: 'delivered', attempts: 1, targetId: target.id }),
  );
  t.deepEqual(
    log.map(({ id }) => id).reverse(),
    receiver.received.map(({ headers }) => headers['webhook-id']),
  );
  const [last] = log;
  t.like(await storage.deliveries.attempts(user.id, last?.id ?? ''), [
    { number: 1, status: 200, answer: 'ok' },
  ]);
});

test('for a slow receiver the oldest are dropped, and no other receiver waits', async t => {
  const { hooked, say, textsOf, logged, closed, metrics, storage, user } = await open(
    t,
    behaviours['never answers'],
  );
  const other = await startReceiver(t);
  const slow = await hooked('transcript_processed');
  await storage.apps.insert(app('a1', user.id));
  await storage.installations.put(installation(user.id, 'a1'));
  const quick = await hooked('transcript_processed', { appId: 'a1', url: other.url });
  for (let n = 1; n <= 40; n += 1) {
    say(String(n));
    await other.arrived(n);
  }
  t.deepEqual(textsOf(), ['1']);
  await logged(47);
  const log = await closed();
  const statesOf = (id: string) => log.filter(it => it.targetId === id).map(({ state }) => state);
  t.deepEqual(statesOf(quick.id), Array(40).fill('delivered'));
  t.deepEqual(statesOf(slow.id), Array(40).fill('dropped'));
  t.regex(await metrics.text(), /earshot_deliveries_total\{target="live",outcome="dropped"\} 40/);
});

test('if a queue is full its oldest are dropped', async t => {
  const { hooked, say, textsOf, receiver, logged } = await open(t);
  const held: ServerResponse[] = [];
  receiver.behaviour = response => void held.push(response);
  await hooked('transcript_processed');
  say('0');
  await receiver.arrived(1);
  for (let n = 1; n <= 40; n += 1) say(String(n));
  receiver.behaviour = behaviours.ok;
  held[0]?.end();
  await receiver.arrived(33);
  t.deepEqual(textsOf(), ['0', ...Array.from({ length: 32 }, (_, n) => String(n + 9))]);
  t.is((await logged(41)).filter(({ state }) => state === 'dropped').length, 8);
});

test('live: a failed delivery is tried three times, and then the next is sent', async t => {
  const { hooked, say, receiver, clock, logged, textsOf } = await open(t, status(500));
  await hooked('transcript_processed');
  say('one');
  await receiver.arrived(1);
  await clock.asleep(1000);
  clock.advance(1000);
  await receiver.arrived(2);
  await clock.asleep(5000);
  clock.advance(5000);
  await receiver.arrived(3);
  receiver.behaviour = behaviours.ok;
  say('two');
  await receiver.arrived(4);
  t.deepEqual(textsOf(), ['one', 'one', 'one', 'two']);
  const log = await logged(2);
  t.deepEqual(
    log.map(({ state, attempts }) => [state, attempts]),
    [
      ['delivered', 1],
      ['failed', 3],
    ],
  );
});

test('live: events older than 30 seconds are dropped', async t => {
  const { hooked, say, receiver, clock, logged, textsOf } = await open(t);
  const held: ServerResponse[] = [];
  receiver.behaviour = response => void held.push(response);
  await hooked('transcript_processed');
  say('one');
  await receiver.arrived(1);
  say('two');
  clock.advance(29_999);
  say('three');
  clock.advance(1);
  receiver.behaviour = behaviours.ok;
  held[0]?.end();
  await receiver.arrived(2);
  t.deepEqual(textsOf(), ['one', 'three']);
  t.deepEqual(
    (await logged(3)).map(({ state, attempts }) => [state, attempts]),
    [
      ['delivered', 1],
      ['dropped', 0],
      ['delivered', 1],
    ],
  );
});

test('live: responses are processed; a receiver that is gone is disabled', async t => {
  const { hooked, say, receiver, answers, user, storage, logged, toldOff } = await open(t);
  const target = await hooked('transcript_processed');
  receiver.behaviour = response => void response.end('{"message":"Drink some water"}');
  say('one');
  await receiver.arrived(1);
  receiver.behaviour = response => void response.end('{"message": nonsense');
  say('two');
  await receiver.arrived(2);
  receiver.behaviour = status(410);
  say('three');
  await receiver.arrived(3);
  await logged(3);
  t.deepEqual(answers, [
    { appId: null, userId: user.id, conversationId: 'c1', answer: { message: 'Drink some water' } },
  ]);
  t.is((await storage.hooks.get(user.id, target.id))?.enabled, false);
  t.deepEqual(toldOff, [target.id]);
});

test('live: segments have speakers, and arrive in the order in which they were said', async t => {
  const { hooked, say, receiver, storage, clock, user, textsOf } = await open(t);
  await storage.people.insert({ id: 'p1', userId: user.id, name: 'Clara', createdAt: clock.now() });
  await hooked('transcript_processed');
  say('mine', { isUser: true });
  say('hers', { personId: 'p1' });
  say('whose', { speaker: 'SPEAKER_03', speakerId: 7 });
  await receiver.arrived(3);
  t.deepEqual(textsOf(), ['mine', 'hers', 'whose']);
  const bodies = receiver.received.map(({ body }) => JSON.parse(String(body)));
  t.deepEqual(
    bodies.map(({ uid, segments: [one] }) => [
      uid,
      one.is_user,
      one.person_id,
      one.speaker,
      one.speaker_name,
    ]),
    [
      [user.id, true, null, 'SPEAKER_00', 'anna'],
      [user.id, false, 'p1', 'SPEAKER_00', 'Clara'],
      [user.id, false, null, 'SPEAKER_03', 'Speaker 7'],
    ],
  );
});

test('a response to memory_created is processed once the delivery is stored', async t => {
  const { hooked, receiver, answers, user, storage, ...rest } = await open(t, response => {
    response.end('{"notification":{"prompt":"Say hello to {{user_name}}","params":["user_name"]}}');
  });
  const target = await hooked('memory_created');
  const { id } = await completedConversation(rest, user.id, ['Tea?']);
  await receiver.arrived(1);
  while (answers.length === 0) await turn();
  const prompt = { prompt: 'Say hello to {{user_name}}', params: ['user_name'], context: null };
  t.deepEqual(answers, [{ appId: null, userId: user.id, conversationId: id, answer: prompt }]);
  const [delivery] = await storage.deliveries.list(user.id, { targetId: target.id, limit: 9 });
  t.is(delivery?.state, 'delivered');
});

test('audio is sent to its subscribers, in pieces of the requested seconds, and not stored', async t => {
  const { hooked, receiver, delivery, user, logged, storage } = await open(t);
  const target = await hooked('audio_bytes', { seconds: 2.5 });
  await hooked('transcript_processed');
  t.is(delivery.live.of(user.id), null, 'it is being looked up');
  while (delivery.live.of(user.id) === null) await turn();
  t.deepEqual(delivery.live.of(user.id), [{ id: target.id, seconds: 2.5 }]);
  delivery.live.push(user.id, target.id, { sampleRate: 16_000, pcm: Int16Array.of(1, -2) });
  delivery.live.push(user.id, 'another', { sampleRate: 16_000, pcm: Int16Array.of(1) });
  await receiver.arrived(1);
  const [got] = receiver.received;
  t.is(got?.path, `/hook?sample_rate=16000&uid=${user.id}`);
  t.deepEqual([...(got?.body ?? [])], [1, 0, 254, 255]);
  const [log, ...more] = await logged(1);
  t.deepEqual(more, []);
  t.is((await storage.deliveries.get(user.id, log?.id ?? ''))?.body, null);
});
