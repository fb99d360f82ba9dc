import test, { type ExecutionContext } from 'ava';
import type { Piece } from '../../../../core/domain/conversations/conversations.ts';
import { AppError } from '../../../../core/runtime/errors.ts';
import { completedConversation, type Domain, openDomain } from '../../../helpers/domain.ts';

const TIMEOUT_MS = 120_000;

async function start(t: ExecutionContext) {
  const domain = await openDomain(t);
  const user = await domain.users.add('anna');
  const request = {
    userId: user.id,
    source: 'omi',
    deviceId: 'ios_1',
    language: 'en',
    timeoutMs: TIMEOUT_MS,
  };
  return {
    ...domain,
    user,
    request,
    connection: {
      ...request,
      stream: 'walk',
      format: { codec: 'opus', sampleRate: 16000, channels: 1 as const },
      sttService: null,
      tagged: false,
      customStt: false,
    },
  };
}

/** A segment this many seconds after `zero`. */
function said(zero: number, text: string, from: number, to: number, speaker = 'SPEAKER_00'): Piece {
  return { text, startAt: zero + from * 1000, endAt: zero + to * 1000, speaker, sttProvider: 'sphinx' };
}

function finishJobs({ storage, clock }: Pick<Domain, 'storage' | 'clock'>) {
  return storage.jobs.claim(['conversation.finish'], clock.now(), 60_000, 10);
}

test('A new conversation is open and empty, and a stored job will end it', async t => {
  const domain = await start(t);
  const conversation = await domain.conversations.open(domain.request);

  t.regex(conversation.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  t.is(Number.parseInt(conversation.id.replaceAll('-', '').slice(0, 12), 16), domain.clock.now());
  t.like(conversation, { status: 'in_progress', startedAt: null, finishedAt: null, source: 'omi' });
  t.like(conversation.structured, { title: '', overview: '', category: 'other' });
  t.deepEqual(await domain.storage.conversations.get(domain.user.id, conversation.id), conversation);
  t.is(await domain.storage.jobs.nextRunAt(['conversation.finish']), domain.clock.now() + TIMEOUT_MS);
});

test('A reconnect of the same source and device continues the conversation, with the new language and timeout', async t => {
  const { conversations, clock, request, storage } = await start(t);
  const first = await conversations.open(request);
  clock.advance(60_000);
  const again = await conversations.open({ ...request, language: 'de', timeoutMs: 90_000 });

  t.is(again.id, first.id);
  t.like(again, { language: 'de', timeoutMs: 90_000, lastActivityAt: first.lastActivityAt });
  t.is(await storage.jobs.nextRunAt(['conversation.finish']), first.createdAt + 90_000);
});

test('Another device, source or user gets a separate conversation', async t => {
  const { conversations, request, users } = await start(t);
  const other = await users.add('ben');
  const opened = await Promise.all([
    conversations.open(request),
    conversations.open({ ...request, deviceId: 'ios_2' }),
    conversations.open({ ...request, deviceId: null }),
    conversations.open({ ...request, source: 'bee' }),
    conversations.open({ ...request, userId: other.id }),
  ]);
  t.is(new Set(opened.map(({ id }) => id)).size, 5);
});

test('Simultaneous connections share one conversation', async t => {
  const { conversations, request } = await start(t);
  const opened = await Promise.all(Array.from({ length: 8 }, () => conversations.open(request)));
  t.is(new Set(opened.map(({ id }) => id)).size, 1);
});

test('Opening a conversation wakes the job runner that will end it', async t => {
  const { conversations, request, storage } = await start(t);
  const woken: string[][] = [];
  storage.onEnqueued(jobs => woken.push([...jobs.keys()]));
  await conversations.open(request);
  t.deepEqual(woken, [['conversation.finish']]);
});

test('A reconnect after the timeout ends the old conversation and starts another', async t => {
  const { conversations, clock, request, told, user } = await start(t);
  const old = await conversations.open(request);
  const startedAt = clock.now();
  await conversations.append({
    userId: user.id,
    conversationId: old.id,
    stream: null,
    startedAt,
    pieces: [said(startedAt, 'hello there', 0, 1)],
  });
  clock.advance(TIMEOUT_MS);
  const fresh = await conversations.open(request);

  t.not(fresh.id, old.id);
  t.is((await conversations.get(user.id, old.id))?.status, 'processing');
  t.deepEqual(told['conversation.processing'], [{ userId: user.id, conversationId: old.id }]);
});

test('A resumed stream continues at its position, in its conversation while that is open', async t => {
  const { conversations, clock, connection, user } = await start(t);
  const first = await conversations.connect(connection);
  t.like(first.streams[0], { clientStream: 'walk', codec: 'opus', through: 0, received: 0, anchorAt: null });
  await conversations.anchor(user.id, first.streams[0].id, 1234);
  await conversations.advance(user.id, first.streams[0].id, {
    through: 900,
    received: 3,
    receivedSample: 800,
  });

  clock.advance(TIMEOUT_MS * 2); // no server was running to end it
  const again = await conversations.connect(connection);
  t.is(again.conversation.id, first.conversation.id);
  t.is(again.conversation.lastActivityAt, clock.now());
  t.like(again.streams[0], {
    id: first.streams[0].id,
    through: 900,
    received: 3,
    receivedSample: 800,
    anchorAt: 1234,
  });

  await conversations.finish(user.id, first.conversation.id);
  const later = await conversations.connect(connection);
  t.is(later.streams[0].id, first.streams[0].id);
  t.not(later.conversation.id, first.conversation.id);
  t.is(later.streams[0].conversationId, later.conversation.id);
});

test('Connections without a stream name never share a stream', async t => {
  const { conversations, connection } = await start(t);
  const one = await conversations.connect({ ...connection, stream: null });
  const two = await conversations.connect({ ...connection, stream: null });
  t.not(one.streams[0].id, two.streams[0].id);
  t.is(one.conversation.id, two.conversation.id);
});

test('Audio recorded earlier than the timeout does not join the open conversation', async t => {
  const { conversations, clock, request } = await start(t);
  const open = await conversations.open(request);
  const recent = await conversations.open({ ...request, recordedAt: clock.now() - 1000 });
  const old = await conversations.open({ ...request, recordedAt: clock.now() - TIMEOUT_MS - 1 });
  t.is(recent.id, open.id);
  t.not(old.id, open.id);
});

test('Pieces become segments with seconds from the first audio sample, and are announced after storage', async t => {
  const { conversations, clock, connection, told, user, storage, events } = await start(t);
  const {
    conversation,
    streams: [stream],
  } = await conversations.connect(connection);
  const zero = clock.now();
  clock.advance(5000);
  const storedWhenTold: Promise<number>[] = [];
  events.on('segments', event => storedWhenTold.push(storage.segments.count(user.id, event.conversationId)));
  const progress = { through: 64_000, received: 7, receivedSample: 60_000 };
  const segments = await conversations.append({
    userId: user.id,
    conversationId: conversation.id,
    stream: { id: stream.id, progress },
    startedAt: zero,
    pieces: [
      said(zero, '  good morning ', 0.5, 1.25),
      { ...said(zero, 'hello', 1.3, 2, 'SPEAKER_11'), isUser: true },
    ],
  });

  t.deepEqual(await Promise.all(storedWhenTold), [2]);
  t.like(segments[0], {
    text: 'good morning',
    start: 0.5,
    end: 1.25,
    speaker: 'SPEAKER_00',
    speakerId: 0,
    isUser: false,
    sttProvider: 'sphinx',
  });
  t.like(segments[1], { text: 'hello', speaker: 'SPEAKER_11', speakerId: 11, isUser: true });
  t.deepEqual(await conversations.segments(user.id, [conversation.id]), segments);
  t.deepEqual(told.segments, [{ userId: user.id, conversationId: conversation.id, segments }]);
  t.like(await conversations.get(user.id, conversation.id), { startedAt: zero, lastActivityAt: clock.now() });
  t.like(await storage.streams.get(user.id, stream.id), progress);
});

test('Pieces of one speaker less than 3 s apart form one segment with one id, also across calls', async t => {
  const { conversations, clock, request, user } = await start(t);
  const { id } = await conversations.open(request);
  const zero = clock.now();
  const append = (...pieces: Piece[]) =>
    conversations.append({ userId: user.id, conversationId: id, stream: null, startedAt: zero, pieces });

  const [first] = await append(said(zero, 'one', 0, 1), said(zero, 'two', 3.999, 5));
  t.like(first, { text: 'one two', start: 0, end: 5 });
  const [grown, ...none] = await append(said(zero, 'three', 7, 8));
  t.like(grown, { id: first?.id, text: 'one two three', end: 8 });
  t.is(none.length, 0);
  const [apart] = await append(said(zero, 'four', 11, 12));
  t.not(apart?.id, first?.id);
  const others = await append(said(zero, 'five', 12, 13, 'SPEAKER_01'), said(zero, 'six', 13, 14));
  t.deepEqual(
    others.map(({ text, speakerId }) => [text, speakerId]),
    [
      ['five', 1],
      ['six', 0],
    ],
  );
  t.is((await conversations.segments(user.id, [id])).length, 4);
});

test('A segment is never longer than 60 seconds', async t => {
  const { conversations, clock, request, user } = await start(t);
  const { id } = await conversations.open(request);
  const zero = clock.now();
  const pieces = Array.from({ length: 20 }, (_, index) => said(zero, `w${index}`, index * 7, index * 7 + 6));
  await conversations.append({ userId: user.id, conversationId: id, stream: null, startedAt: zero, pieces });

  const segments = await conversations.segments(user.id, [id]);
  t.true(segments.every(({ start, end }) => end - start <= 60));
  t.is(segments.map(({ text }) => text).join(' '), pieces.map(({ text }) => text).join(' '));
  t.true(segments.length < 5);
});

test('Pieces of the same time join no segment of more than 5,000 characters, which each of them would rewrite', async t => {
  const { conversations, clock, request, user } = await start(t);
  const { id } = await conversations.open(request);
  const zero = clock.now();
  const words = 'Tea at seven, said Eve. '.repeat(20).trim();
  for (let call = 0; call < 3; call++)
    await conversations.append({
      ...{ userId: user.id, conversationId: id, stream: null, startedAt: zero },
      pieces: Array.from({ length: 20 }, () => said(zero, words, 1, 2)),
    });
  const lengths = (await conversations.segments(user.id, [id])).map(({ text }) => text.length);
  t.true(Math.max(...lengths) <= 5000, `${lengths}`);
  t.true(lengths.length < 10, 'and no more segments than that');
});

test('A piece from before the first sample starts at zero, and one without text is ignored', async t => {
  const { conversations, clock, request, user } = await start(t);
  const { id } = await conversations.open(request);
  const zero = clock.now();
  const request2 = { userId: user.id, conversationId: id, stream: null, startedAt: zero };
  t.deepEqual(await conversations.append({ ...request2, pieces: [said(zero, '  ', 0, 1)] }), []);
  t.is((await conversations.get(user.id, id))?.startedAt, null);
  const [segment] = await conversations.append({ ...request2, pieces: [said(zero, 'early', -2, -1)] });
  t.like(segment, { start: 0, end: 0 });
});

test('Progress without pieces is not activity, works after the end, and never goes back', async t => {
  const { conversations, clock, connection, user, storage, told } = await start(t);
  const {
    conversation,
    streams: [stream],
  } = await conversations.connect(connection);
  clock.advance(1000);
  await conversations.finish(user.id, conversation.id);
  const append = (through: number) =>
    conversations.append({
      userId: user.id,
      conversationId: conversation.id,
      stream: { id: stream.id, progress: { through, received: through, receivedSample: through } },
      startedAt: 0,
      pieces: [],
    });
  await append(500);
  await append(400);
  t.like(await storage.streams.get(user.id, stream.id), { through: 500, received: 500 });
  t.false(await conversations.advance(user.id, stream.id, { through: 1, received: 1, receivedSample: 1 }));
  t.deepEqual(told.segments, []);
});

test('Data that another connection of the stream has already stored is not stored twice', async t => {
  const { conversations, clock, connection, user } = await start(t);
  const {
    conversation,
    streams: [stream],
  } = await conversations.connect(connection);
  const zero = clock.now();
  const append = (text: string, through: number) =>
    conversations.append({
      userId: user.id,
      conversationId: conversation.id,
      stream: { id: stream.id, progress: { through, received: 0, receivedSample: 0 } },
      startedAt: zero,
      pieces: [said(zero, text, 0, 1)],
    });
  await append('once', 16_000);
  t.deepEqual(await append('late twin', 15_999), []);
  t.deepEqual(
    (await conversations.segments(user.id, [conversation.id])).map(({ text }) => text),
    ['once'],
  );
});

test('Nothing of a rejected append is stored', async t => {
  const { conversations, clock, connection, user, storage, told } = await start(t);
  const {
    conversation,
    streams: [stream],
  } = await conversations.connect(connection);
  const zero = clock.now();
  const request = {
    userId: user.id,
    conversationId: conversation.id,
    stream: { id: stream.id, progress: { through: 9, received: 9, receivedSample: 9 } },
    startedAt: zero,
  };
  const bad = [said(zero, 'fine', 0, 1), said(zero, 'bad', 1, 2, 'Bob')];
  await t.throwsAsync(conversations.append({ ...request, pieces: bad }), { message: /"Bob".*SPEAKER_00/ });
  t.is((await storage.streams.get(user.id, stream.id))?.through, 0);
  t.is(await storage.segments.count(user.id, conversation.id), 0);
  t.is((await conversations.get(user.id, conversation.id))?.startedAt, null);
  t.deepEqual(told.segments, []);

  const unknown = { ...request, stream: { ...request.stream, id: user.id } };
  await t.throwsAsync(conversations.append({ ...unknown, pieces: [said(zero, 'x', 0, 1)] }), {
    message: 'Stream not found',
  });
});

test('Nothing is added to a conversation that has ended, was deleted or belongs to another user', async t => {
  const { conversations, clock, request, user, users, storage } = await start(t);
  const other = await users.add('ben');
  const { id } = await conversations.open(request);
  const zero = clock.now();
  const append = (userId = user.id) =>
    conversations.append({
      userId,
      conversationId: id,
      stream: null,
      startedAt: zero,
      pieces: [said(zero, 'x', 0, 1)],
    });
  const conflict = async (attempt: Promise<unknown>) => {
    const error = await t.throwsAsync(attempt, { instanceOf: AppError });
    t.is(error.code, 'conflict');
  };

  await conflict(append(other.id));
  await append();
  await conversations.finish(user.id, id);
  await conflict(append());
  t.is(await storage.segments.count(user.id, id), 1);
  await storage.conversations.remove(user.id, id);
  await conflict(append());
});

test('Speech keeps its own open conversation alive, and no other', async t => {
  const { conversations, clock, request, user } = await start(t);
  const { id } = await conversations.open(request);
  const startedAt = clock.now();
  await conversations.append({
    userId: user.id,
    conversationId: id,
    stream: null,
    startedAt,
    pieces: [said(startedAt, 'x', 0, 1)],
  });
  clock.advance(TIMEOUT_MS - 1);
  await conversations.touch(user.id, id);
  clock.advance(TIMEOUT_MS - 1);
  t.false(await conversations.finishIfSilent(user.id, id));
  clock.advance(1);
  t.true(await conversations.finishIfSilent(user.id, id));
  const endedAt = (await conversations.get(user.id, id))?.lastActivityAt;
  clock.advance(1);
  await conversations.touch(user.id, id);
  t.is((await conversations.get(user.id, id))?.lastActivityAt, endedAt);
});

test('A conversation ends once, which makes its job due at once and wakes the runner', async t => {
  const domain = await start(t);
  const { conversations, clock, request, user, told } = domain;
  const { id } = await conversations.open(request);
  await conversations.append({
    userId: user.id,
    conversationId: id,
    stream: null,
    startedAt: clock.now(),
    pieces: [said(clock.now(), 'x', 0, 1)],
  });
  t.deepEqual(await finishJobs(domain), []);
  const ended = await Promise.all([conversations.finish(user.id, id), conversations.finish(user.id, id)]);

  t.deepEqual(ended.sort(), [false, true]);
  t.deepEqual(told['conversation.processing'], [{ userId: user.id, conversationId: id }]);
  const due = await finishJobs(domain);
  t.deepEqual(
    due.map(({ key, payload }) => ({ key, payload })),
    [{ key: id, payload: { userId: user.id, conversationId: id } }],
  );
});

test('An empty conversation is removed when it ends, and never announced as processing', async t => {
  const { conversations, request, user, told } = await start(t);
  const { id } = await conversations.open(request);
  t.true(await conversations.finish(user.id, id));
  t.is(await conversations.get(user.id, id), null);
  t.deepEqual(told['conversation.dropped'], [{ userId: user.id, conversationId: id }]);
  t.deepEqual(told['conversation.processing'], []);
  t.false(await conversations.finish(user.id, id));
});

test('A speaker is the owner, a known person, or a number', async t => {
  const { conversations, clock, request, user, storage } = await start(t);
  const { id } = await conversations.open(request);
  const zero = clock.now();
  const person = { id: '01890000-0000-7000-8000-000000000001', userId: user.id, name: 'Clara', createdAt: 1 };
  await storage.people.insert(person);
  const segments = await conversations.append({
    userId: user.id,
    conversationId: id,
    stream: null,
    startedAt: zero,
    pieces: [
      { ...said(zero, 'mine', 0, 1), isUser: true },
      said(zero, 'hers', 2, 3, 'SPEAKER_01'),
      said(zero, 'whose', 4, 5, 'SPEAKER_12'),
    ],
  });
  const name = await conversations.speakerNames(user);
  const [mine, hers, whose] = segments;
  if (!mine || !hers || !whose) return t.fail();
  t.is(name(mine), 'anna');
  t.is(name({ ...hers, personId: person.id }), 'Clara');
  t.is(name({ ...hers, personId: 'someone deleted' }), 'Speaker 1');
  t.is(name(whose), 'Speaker 12');
});

test('An invalid id is not found, without a database query', async t => {
  const { conversations, user } = await start(t);
  for (const id of ['', 'x', "' or 1=1", '01890000-0000-7000-8000-00000000000G'])
    t.is(await conversations.get(user.id, id), null);
  t.deepEqual(await conversations.list(user.id, { folderId: 'work', limit: 10, offset: 0 }), []);
  t.deepEqual(await conversations.segments(user.id, []), []);
});

test('a long transcript is indexed, merged and deleted while others write', async t => {
  const { storage, conversations, users } = await openDomain(t);
  const user = await users.add('writer');
  const about = { source: 'omi', deviceId: null, language: 'en', geolocation: null, clientSessionId: null };
  const structured = {
    title: 'Tea',
    overview: '',
    category: 'other' as const,
    emoji: '',
    actionItems: [],
    events: [],
  };
  const imported = async (last: string) => {
    const segments = Array.from({ length: 40 }, (_, at) => ({
      text: `${'Tea in the garden. '.repeat(900)}${at === 39 ? last : ''}`,
      start: at,
      end: at + 1,
      speaker: 'SPEAKER_00',
      speakerId: 0,
      isUser: false,
      personId: null,
    }));
    const request = { userId: user.id, ...about, startedAt: null, finishedAt: null, segments };
    return (await conversations.importSegments(request, 0)).id;
  };
  const found = async (word: string) => (await conversations.passages(user.id, word, 10)).length;
  /** Writes of others until this work is done. */
  async function writesDuring(work: Promise<unknown>): Promise<number> {
    let isOver = false;
    const over = work.finally(() => {
      isOver = true;
    });
    let written = 0;
    for (; !isOver; written++) await storage.users.setMemoryAccess(user.id, written % 2 === 0);
    await over;
    return written;
  }

  const [one, other] = [await imported('zebra'), await imported('giraffe')];
  const indexed = await writesDuring(conversations.complete(user.id, one, structured));
  t.true(indexed > 5, `${indexed} writes went between`);
  await conversations.complete(user.id, other, structured);
  t.is(await found('zebra'), 1);

  const merged = await writesDuring(conversations.merge(user.id, one, other));
  t.true(merged > 20, `${merged} writes went between`);
  t.is(await conversations.get(user.id, other), null);
  t.is(await storage.jobs.nextRunAt(['conversation.reprocess']), null);
  await conversations.complete(user.id, one, structured);
  t.is(await found('giraffe'), 1);

  const removed = await writesDuring(conversations.remove(user.id, one));
  t.true(removed > 40, `${removed} writes went between`);
  t.is(await found('zebra'), 0);
});

test('a merge that is refused after its preparation leaves the other conversation to be found by search', async t => {
  const domain = await openDomain(t);
  const { storage, conversations, clock, users } = domain;
  const user = await users.add('writer');
  const { id } = await completedConversation(domain, user.id, ['the zebra is here']);
  const { id: other } = await completedConversation(domain, user.id, ['the giraffe is there']);
  const clear = storage.passages.put;
  storage.passages.put = async (...args) => {
    await clear(...args);
    await storage.conversations.update(user.id, id, { locked: true });
  };
  await t.throwsAsync(conversations.merge(user.id, id, other), { code: 'locked' });
  clock.advance(60_000);
  const [job] = await storage.jobs.claim(['conversation.reprocess'], clock.now(), 1000, 10);
  t.deepEqual(job?.payload, { userId: user.id, conversationId: other, notBefore: clock.now() });
});

test('segments that an account may move by merging and splitting are limited', async t => {
  const { conversations, clock, users, storage, ...rest } = await openDomain(t);
  const [user, ben] = [await users.add('anna'), await users.add('ben')];
  const domain = { conversations, clock, ...rest };
  const one = await completedConversation(domain, user.id, Array(20).fill('tea'));
  clock.advance(1000);
  const other = await completedConversation(domain, user.id, Array(20).fill('tea'));
  const others = await completedConversation(domain, ben.id, ['one', 'two']);
  let count = 15_000;
  storage.segments.count = async () => count;
  const split = async ({ id, segments }: typeof one, at: number, owner = user) => {
    await conversations.split(owner.id, id, segments[at]?.id ?? '');
    await storage.conversations.update(owner.id, id, { status: 'completed' });
  };
  await split(one, 10);
  t.like(await t.throwsAsync(split(one, 8), { code: 'rate_limited' }), { retryAfter: 30 });
  await split(others, 1, ben);
  count = 5000;
  await split(one, 8);
  t.like(await t.throwsAsync(split(one, 6), { code: 'rate_limited' }), { retryAfter: 15 });

  clock.advance(59_000);
  count = 20_001;
  await t.throwsAsync(split(one, 6), { code: 'rate_limited' });
  clock.advance(1000);
  await split(one, 6); // more than the limit, and so alone
  await t.throwsAsync(conversations.merge(user.id, one.id, other.id), { code: 'rate_limited' });
  clock.advance(1000);
  await conversations.merge(user.id, one.id, other.id); // moves 20 segments
});
