import test, { type ExecutionContext } from 'ava';
import { openDatabases } from '../../../helpers/databases.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const LIST = '/v1/dev/user/conversations';
const PATH = '/v1/conversations';
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const MINUTE_MS = 60_000;
/** Delay from the last correction to processing. */
const SOON_MS = 10_000;

type Json = Record<string, unknown>;
type Rest = Awaited<ReturnType<typeof start>>;

async function start(t: ExecutionContext, open?: Parameters<typeof openRest>[1]) {
  const rest = await openRest(t, open);
  const { send, conversations, user } = rest;
  const good = async (method: string, path: string, body?: Json) => {
    const answer = await send(method, path, body);
    t.is(answer.status, 200, `${method} ${path} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const get = (id: string) => good('GET', `${LIST}/${id}?include_transcript=true`);
  const ids = async () => (await good('GET', LIST)).map(({ id }: Json) => id);
  /** Lists segments with their times. */
  const said = ({ transcript_segments: segments }: { transcript_segments: Json[] }) =>
    segments.map(({ text, start, end }) => [text, start, end]);
  /** Runs the pipeline until this many conversations are done. */
  const process = async (count: number) => {
    const done = rest.processed(count);
    rest.run();
    await done;
  };
  const ongoing = async () => {
    const request = { userId: user.id, source: 'omi', deviceId: 'd', language: 'en', timeoutMs: 120_000 };
    const { id } = await conversations.open(request);
    const piece = { text: 'wait', startAt: 0, endAt: 1, speaker: 'SPEAKER_00', sttProvider: null };
    const at = rest.clock.now();
    const pieces = [{ ...piece, startAt: at, endAt: at + 1000 }];
    const segments = await conversations.append({
      userId: user.id,
      conversationId: id,
      stream: null,
      startedAt: at,
      pieces,
    });
    return { id, segment: segments[0]?.id ?? '' };
  };
  const lock = (id: string) => rest.storage.conversations.update(user.id, id, { locked: true });
  return { ...rest, good, get, ids, said, process, ongoing, lock };
}

for (const { name, open } of await openDatabases(test)) {
  const on = (title: string, run: (t: ExecutionContext, rest: Rest) => Promise<void>) =>
    test.serial(`${name}: ${title}`, async t => run(t, await start(t, open)));

  on('the second of two corrections to the same text is rejected with the first', async (t, rest) => {
    const { good, get, send, said, user } = rest;
    const { id, segments } = await completedConversation(rest, user.id, ['the cat ate the budget']);
    const path = `${PATH}/${id}/segments/${segments[0]?.id}`;
    const expected = { text: 'the cat ate the budget', person_id: null };
    const answers = await Promise.all(
      ['They cut the budget', 'The cart ate the budget'].map(text => send('PATCH', path, { text, expected })),
    );
    t.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    const [[kept]] = said(await get(id)) as [[string]];
    const refused = answers.find(({ status }) => status === 409)?.body.detail;
    t.like(refused, { code: 'changed', current: { text: kept, person_id: null } });
    t.not(refused.yours.text, kept);
    await good('PATCH', path, { person_id: 'user', expected: { person_id: null } });
    t.like(await send('PATCH', path, { text: 'x', expected: { person_id: null } }), {
      status: 409,
      body: { detail: { current: { person_id: 'user' } } },
    });
  });

  on('a corrected text is stored and summarised again; a title of the owner’s stays', async (t, rest) => {
    const { good, get, process, user, told, clock } = rest;
    const plain = await completedConversation(rest, user.id, ['the cat ate the budget'], {
      title: 'The Cat',
    });
    const own = await completedConversation(rest, user.id, ['the cat ate the budget']);
    await good('PATCH', `${LIST}/${own.id}`, { title: 'My title' });
    const text = 'We have to cut the budget for the garden.';
    for (const { id, segments } of [plain, own]) {
      const answer = await good('PATCH', `${PATH}/${id}/segments/${segments[0]?.id}`, { text: ` ${text} ` });
      t.like(answer, { id, status: 'completed' });
      t.deepEqual(
        answer.transcript_segments.map((segment: Json) => segment.text),
        [text],
      );
    }
    t.is(told.segments.at(-1)?.segments[0]?.text, text);
    clock.advance(SOON_MS);
    await process(2);
    t.like(await get(plain.id), { structure_by: { plugin: 'plain-understanding', provisional: false } });
    t.like((await get(plain.id)).structured, {
      title: 'Cut the Budget for the Garden',
      overview: text,
    });
    t.like((await get(own.id)).structured, { title: 'My title', overview: text });
    t.is((await get(own.id)).status, 'completed');
  });

  on('a segment is assigned to a person, to the owner, or to nobody', async (t, rest) => {
    const { good, people, user } = rest;
    const eve = await people.create(user.id, 'Eve');
    const { id, segments } = await completedConversation(rest, user.id);
    const rows: [string | null, string][] = [
      [eve.id, 'Eve'],
      ['user', 'anna'],
      [null, 'Speaker 0'],
      [eve.id, 'Eve'],
    ];
    for (const [person_id, speaker_name] of rows) {
      const answer = await good('PATCH', `${PATH}/${id}/segments/${segments[0]?.id}`, { person_id });
      t.like(answer, { status: 'completed', structured: { title: 'Title' } });
      t.is(answer.transcript_segments[0].speaker_name, speaker_name);
    }
  });

  on('several corrections in a row are processed once, after the last of them', async (t, rest) => {
    const { good, get, user, clock, run, processed } = rest;
    const { id, segments } = await completedConversation(rest, user.id, ['one', 'two', 'three']);
    for (const [index, segment] of segments.entries()) {
      await good('PATCH', `${PATH}/${id}/segments/${segment.id}`, { text: `the budget ${index}` });
      clock.advance(SOON_MS - 1);
    }
    const counted = run();
    await clock.asleep(1); // its job was due with the first of them, and is delayed
    t.is(counted.runs, 0);
    const done = processed(1);
    clock.advance(1);
    await done;
    t.is(counted.runs, 1);
    t.regex((await get(id)).structured.overview, /budget 0.*budget 1.*budget 2/);
  });

  on('live speech can be corrected, and continues', async (t, { good, ongoing }) => {
    const { id, segment } = await ongoing();
    t.like(await good('PATCH', `${PATH}/${id}/segments/${segment}`, { text: 'Weight' }), {
      status: 'in_progress',
    });
  });

  on('two conversations are merged, each at its time, and the other one is deleted', async (t, rest) => {
    const { good, get, ids, said, process, user, clock, actionItems, storage, told, send } = rest;
    const early = await completedConversation(rest, user.id, [
      'The train leaves at seven.',
      'Which platform?',
    ]);
    clock.advance(10 * MINUTE_MS);
    const late = await completedConversation(rest, user.id, ['From platform nine.'], { category: 'travel' });
    await good('PATCH', `${LIST}/${early.id}`, { starred: true });
    const task = { description: 'x', completed: false, dueAt: null };
    const [item] = await actionItems.create(user.id, [task], early.id);
    const answer = await good('POST', `${PATH}/${late.id}/merge`, { with: early.id });
    t.like(answer, { id: late.id, status: 'processing', starred: true });
    const all = [
      ['The train leaves at seven.', 0, 2],
      ['Which platform?', 10, 12],
      ['From platform nine.', 600, 602],
    ];
    t.deepEqual(said(answer), all);
    t.is((await send('GET', `${LIST}/${early.id}`)).status, 404);
    t.deepEqual(
      told['conversation.dropped'].map(it => it.conversationId),
      [early.id],
    );
    t.is((await storage.actionItems.get(user.id, item?.id ?? ''))?.conversationId, late.id);
    await process(1);
    t.deepEqual(await ids(), [late.id]);
    const merged = await get(late.id);
    t.deepEqual(said(merged), all);
    t.is(Date.parse(merged.finished_at) - Date.parse(merged.started_at), 602_000);
    t.like(merged.structured, { title: 'The Train Leaves at Seven' });
  });

  on('one of two simultaneous merges succeeds, and nothing is lost', async (t, rest) => {
    const { send, user, storage } = rest;
    const one = await completedConversation(rest, user.id, ['one']);
    const two = await completedConversation(rest, user.id, ['two']);
    const answers = await Promise.all([
      send('POST', `${PATH}/${one.id}/merge`, { with: two.id }),
      send('POST', `${PATH}/${two.id}/merge`, { with: one.id }),
    ]);
    t.deepEqual(answers.map(({ status }) => status).sort(), [200, 404]);
    t.is((await storage.segments.list(user.id, [one.id, two.id])).length, 2);
  });

  on('late text for a merged conversation is added to the result', async (t, rest) => {
    const { conversations, good, user, clock, storage } = rest;
    const { id } = await completedConversation(rest, user.id, ['first']);
    await storage.streams.insert({
      ...{
        id: UNKNOWN,
        userId: user.id,
        clientStream: 'walk',
        channel: 0,
        conversationId: id,
        source: 'omi',
      },
      ...{
        deviceId: null,
        codec: 'pcm16',
        setup: null,
        anchorAt: clock.now(),
        through: 0,
        received: 0,
        receivedSample: 0,
      },
    });
    const other = await completedConversation(rest, user.id, ['second']);
    await good('POST', `${PATH}/${other.id}/merge`, { with: id });
    t.is((await conversations.stream(user.id, UNKNOWN))?.conversationId, other.id);
  });

  on('one conversation is split into two, each with its time and its own summary', async (t, rest) => {
    const { good, get, said, process, user } = rest;
    const texts = [
      'The train leaves at seven.',
      'Which platform?',
      'My back hurts, I will call the doctor.',
      'Do that.',
    ];
    const { id, segments } = await completedConversation(rest, user.id, texts);
    const before = await get(id);
    const part = await good('POST', `${PATH}/${id}/split`, { segment_id: segments[2]?.id });
    t.like(part, { status: 'processing', source: 'omi', structured: { title: '' } });
    t.not(part.id, id);
    t.deepEqual(said(part), [
      [texts[2], 0, 2],
      [texts[3], 10, 12],
    ]);
    t.is(Date.parse(part.started_at) - Date.parse(before.started_at), 20_000);
    await process(2);
    const [first, second] = [await get(id), await get(part.id)];
    t.deepEqual(said(first), [
      [texts[0], 0, 2],
      [texts[1], 10, 12],
    ]);
    t.is(Date.parse(first.finished_at) - Date.parse(first.started_at), 12_000);
    t.is(second.finished_at, before.finished_at);
    t.like(first, { status: 'completed', structured: { title: 'The Train Leaves at Seven' } });
    t.like(second, { status: 'completed', structured: { category: 'health' } });
  });

  on('an owner ends a running conversation, and it is summarised', async (t, rest) => {
    const { good, get, send, process, user, conversations } = rest;
    const { id } = await rest.ongoing();
    t.like(await good('POST', `${PATH}/${id}/finish`), { id, status: 'processing' });
    await process(1);
    t.is((await get(id)).status, 'completed');
    t.like(await good('POST', `${PATH}/${id}/finish`), { id, status: 'completed' }, 'it stays as it is');
    const next = await rest.ongoing();
    t.not(next.id, id, 'what is said next begins another');

    const request = { userId: user.id, source: 'omi', deviceId: 'e', language: 'en', timeoutMs: 120_000 };
    const empty = await conversations.open(request);
    t.like(await send('POST', `${PATH}/${empty.id}/finish`), {
      status: 409,
      body: { detail: 'Nothing has been said in the conversation yet' },
    });
    t.like(await conversations.get(user.id, empty.id), { status: 'in_progress' });
    t.is((await send('POST', `${PATH}/${UNKNOWN}/finish`)).status, 404);
    await rest.lock(next.id);
    t.is((await send('POST', `${PATH}/${next.id}/finish`)).status, 423);
  });

  on('a merge reverses a split', async (t, rest) => {
    const { good, get, said, process, user } = rest;
    const { id, segments } = await completedConversation(rest, user.id, [
      'one of it',
      'two of it',
      'three of it',
    ]);
    const before = said(await get(id));
    const part = await good('POST', `${PATH}/${id}/split`, { segment_id: segments[1]?.id });
    await process(2);
    t.deepEqual(said(await good('POST', `${PATH}/${id}/merge`, { with: part.id })), before);
  });

  on('an impossible request is rejected, and changes nothing', async (t, rest) => {
    const { send, user, ongoing, lock, get, good } = rest;
    const { id, segments } = await completedConversation(rest, user.id, ['one', 'two']);
    const before = await get(id);
    const segment = segments[0]?.id ?? '';
    const live = await ongoing();
    const locked = await completedConversation(rest, user.id);
    await lock(locked.id);
    const edit = (of: string, it: string) => `${PATH}/${of}/segments/${it}`;
    const going = { detail: 'The conversation is still running: end it first, or wait until it has ended' };
    const rows: [string, string, Json, number, unknown][] = [
      ['PATCH', edit(UNKNOWN, segment), { text: 'x' }, 404, { detail: 'Conversation not found' }],
      ['PATCH', edit('nonsense', segment), { text: 'x' }, 404, { detail: 'Conversation not found' }],
      ['PATCH', edit(id, UNKNOWN), { text: 'x' }, 404, { detail: 'Segment not found' }],
      ['PATCH', edit(id, live.segment), { text: 'x' }, 404, { detail: 'Segment not found' }],
      ['PATCH', edit(id, segment), { text: 'x', person_id: UNKNOWN }, 404, { detail: 'Person not found' }],
      ['PATCH', edit(id, segment), { text: 'x', person_id: 'Eve' }, 404, { detail: 'Person not found' }],
      [
        'PATCH',
        edit(locked.id, locked.segments[0]?.id ?? ''),
        { text: 'x' },
        423,
        { detail: 'Conversation is locked' },
      ],
      ['POST', `${PATH}/${UNKNOWN}/merge`, { with: id }, 404, { detail: 'Conversation not found' }],
      ['POST', `${PATH}/${id}/merge`, { with: UNKNOWN }, 404, { detail: 'Conversation not found' }],
      ['POST', `${PATH}/${id}/merge`, { with: 'x' }, 404, { detail: 'Conversation not found' }],
      ['POST', `${PATH}/${id}/merge`, { with: live.id }, 409, going],
      ['POST', `${PATH}/${live.id}/merge`, { with: id }, 409, going],
      ['POST', `${PATH}/${id}/merge`, { with: locked.id }, 423, { detail: 'Conversation is locked' }],
      ['POST', `${PATH}/${locked.id}/merge`, { with: id }, 423, { detail: 'Conversation is locked' }],
      ['POST', `${PATH}/${id}/split`, { segment_id: UNKNOWN }, 404, { detail: 'Segment not found' }],
      [
        'POST',
        `${PATH}/${UNKNOWN}/split`,
        { segment_id: segment },
        404,
        { detail: 'Conversation not found' },
      ],
      ['POST', `${PATH}/${live.id}/split`, { segment_id: live.segment }, 409, going],
      [
        'POST',
        `${PATH}/${locked.id}/split`,
        { segment_id: segment },
        423,
        { detail: 'Conversation is locked' },
      ],
    ];
    for (const [method, path, body, status, expected] of rows)
      t.like(
        await send(method, path, body),
        { status, body: expected },
        `${method} ${path} ${JSON.stringify(body)}`,
      );
    t.deepEqual(await get(id), before);
    const part = await good('POST', `${PATH}/${id}/split`, { segment_id: segments[1]?.id });
    t.like(await good('PATCH', edit(id, segment), { text: 'while it is processed' }), {
      status: 'processing',
    });
    t.is((await send('POST', `${PATH}/${id}/merge`, { with: part.id })).status, 503);
  });

  on('errors in a body are reported with their paths', async (t, rest) => {
    const { issues, user } = rest;
    const { id, segments } = await completedConversation(rest, user.id);
    const segment = segments[0]?.id ?? '';
    const rows: [string, string, Json, Json][] = [
      ['PATCH', `segments/${segment}`, {}, { body: 'missing' }],
      ['PATCH', `segments/${segment}`, { text: ' ' }, { 'body.text': 'string_too_short' }],
      ['PATCH', `segments/${segment}`, { text: null }, { 'body.text': 'string_type' }],
      ['PATCH', `segments/${segment}`, { text: 'x'.repeat(100_001) }, { 'body.text': 'string_too_long' }],
      ['PATCH', `segments/${segment}`, { person_id: '' }, { 'body.person_id': 'string_too_short' }],
      ['POST', 'merge', {}, { 'body.with': 'missing' }],
      ['POST', 'merge', { with: id }, { 'body.with': 'value_error' }],
      ['POST', 'split', {}, { 'body.segment_id': 'missing' }],
      ['POST', 'split', { segment_id: segment }, { 'body.segment_id': 'value_error' }],
    ];
    for (const [method, path, body, expected] of rows)
      t.deepEqual(
        await issues(method, `${PATH}/${id}/${path}`, body),
        expected as never,
        JSON.stringify(body).slice(0, 60),
      );
  });

  on('corrections accept only an ID token, and only own conversations', async (t, rest) => {
    const { send, keys, user, users, get } = rest;
    const { id, segments } = await completedConversation(rest, user.id, ['one', 'two']);
    const before = await get(id);
    const { key } = await keys.create(user.id, { name: 'k', scopes: ['conversations:write'] });
    const ben = await users.add('ben');
    const token = await users.token('ben');
    const bens = await completedConversation(rest, ben.id, ['ben']);
    const calls: [string, string, Json][] = [
      ['PATCH', `${id}/segments/${segments[0]?.id}`, { text: 'x' }],
      ['PATCH', `${bens.id}/segments/${segments[0]?.id}`, { text: 'x' }],
      ['POST', `${id}/merge`, { with: bens.id }],
      ['POST', `${bens.id}/merge`, { with: id }],
      ['POST', `${id}/split`, { segment_id: segments[1]?.id }],
    ];
    for (const [method, path, body] of calls) {
      t.is((await send(method, `${PATH}/${path}`, body, null)).status, 401, path);
      t.is((await send(method, `${PATH}/${path}`, body, key)).status, 401, path);
      t.is((await send(method, `${PATH}/${path}`, body, token)).status, 404, path);
    }
    t.deepEqual(await get(id), before);
  });
}
