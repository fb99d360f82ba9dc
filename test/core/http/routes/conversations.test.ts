import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { ConversationJson } from '../../../../core/domain/conversations/conversation-json.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const LIST = '/v1/dev/user/conversations';
const DAY_MS = 24 * 3600 * 1000;

async function start(t: ExecutionContext) {
  const rest = await openRest(t);
  const { user, token, url } = rest;
  const ask = async (path: string, credential: string | null = token) => {
    const headers = credential === null ? {} : { Authorization: `Bearer ${credential}` };
    const response = await fetch(url + path, { headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  /** The ids in a list, in order. */
  const ids = async (query = '') => {
    const { status, text } = await ask(`${LIST}?${query}`);
    t.is(status, 200, text);
    return z
      .array(ConversationJson)
      .parse(JSON.parse(text))
      .map(({ id }) => id);
  };
  const complete = async (changes: Parameters<typeof completedConversation>[3] = {}, texts = ['hello']) => {
    const made = await completedConversation(rest, user.id, texts, changes);
    rest.clock.advance(1000);
    return made;
  };
  return { ...rest, ask, ids, complete };
}

test('Without a valid credential the response is 401 with a challenge', async t => {
  const { ask } = await start(t);
  for (const path of [LIST, `${LIST}/01890000-0000-7000-8000-000000000000`, `${LIST}?limit=x`]) {
    for (const credential of [null, 'nonsense', 'omi_dev_00000000000000000000000000000000']) {
      const { status, headers, text } = await ask(path, credential);
      t.is(status, 401);
      t.is(headers.get('www-authenticate'), 'Bearer');
      t.regex(JSON.parse(text).detail, /API key \(omi_dev_…\) or an ID token/);
    }
  }
});

test('A key needs the scope; the owner’s ID token needs none', async t => {
  const { ask, keys, user } = await start(t);
  const reader = await keys.create(user.id, { name: 'r', scopes: ['conversations:read'] });
  const device = await keys.create(user.id, { name: 'd', scopes: ['listen', 'conversations:write'] });
  t.is((await ask(LIST, reader.key)).status, 200);
  t.is((await ask(LIST)).status, 200);
  const refused = await ask(LIST, device.key);
  t.is(refused.status, 403);
  t.is(refused.text, '{"detail":"Insufficient permissions. Required scope: conversations:read"}');
});

test('A conversation has every field of the API, null if there is no value', async t => {
  const { ask, complete, clock, conversations, user } = await start(t);
  const startedAt = clock.now();
  const { id } = await complete({ title: 'A walk', category: 'health' }, ['one', 'two']);
  const { status, text } = await ask(`${LIST}/${id}`);
  t.is(status, 200);
  const folder = (await conversations.folders(user.id)).find(({ name }) => name === 'Personal');
  t.deepEqual(JSON.parse(text), {
    id,
    created_at: new Date(startedAt).toISOString(),
    started_at: new Date(startedAt).toISOString(),
    finished_at: new Date(startedAt + 12_000).toISOString(),
    structured: {
      title: 'A walk',
      overview: 'Overview.',
      category: 'health',
      emoji: '🧠',
      action_items: [],
      events: [],
    },
    folder_id: folder?.id,
    folder_name: 'Personal',
    structure_by: null,
    geolocation: null,
    language: 'en',
    source: 'omi',
    status: 'completed',
    discarded: false,
    starred: false,
  });
});

test('Results of the pipeline and the location use the field names of the API', async t => {
  const { ask, complete, storage, user } = await start(t);
  const { id } = await complete();
  await storage.conversations.update(user.id, id, {
    geolocation: { latitude: 1.5, longitude: -2, address: 'A 1', googlePlaceId: null, locationType: 'home' },
    structured: {
      title: 'T',
      overview: 'O',
      category: 'work',
      emoji: '💼',
      actionItems: [{ description: 'Call', completed: false, dueAt: 0 }],
      events: [{ title: 'Visit', description: '', startAt: 1000, duration: 30, created: false }],
    },
  });
  const json = ConversationJson.parse(JSON.parse((await ask(`${LIST}/${id}`)).text));
  t.deepEqual(json.geolocation, {
    latitude: 1.5,
    longitude: -2,
    address: 'A 1',
    google_place_id: null,
    location_type: 'home',
  });
  t.deepEqual(json.structured.action_items, [
    {
      description: 'Call',
      completed: false,
      completed_at: null,
      created_at: null,
      due_at: '1970-01-01T00:00:00.000Z',
      updated_at: null,
      conversation_id: id,
    },
  ]);
  t.deepEqual(json.structured.events, [
    { title: 'Visit', start: '1970-01-01T00:00:01.000Z', description: '', duration: 30, created: false },
  ]);
});

test('Segments are included only on request, with the names of their speakers', async t => {
  const { ask, complete, storage, user, keys } = await start(t);
  const { id, segments } = await complete({}, ['mine', 'hers', 'whose']);
  const silent = await complete({}, ['other']);
  const [mine, hers, whose] = segments;
  if (!mine || !hers || !whose) return t.fail();
  const person = { id: '01890000-0000-7000-8000-000000000001', userId: user.id, name: 'Clara', createdAt: 1 };
  await storage.people.insert(person);
  await storage.segments.upsert([
    { ...mine, isUser: true },
    { ...hers, personId: person.id },
    { ...whose, speaker: 'SPEAKER_03', speakerId: 3 },
  ]);
  const expected = [
    ['anna', { id: mine.id, text: 'mine', speaker_id: 0, start: 0, end: 2, is_user: true }],
    ['Clara', { id: hers.id, text: 'hers', speaker_id: 0, start: 10, end: 12, person_id: person.id }],
    ['Speaker 3', { id: whose.id, text: 'whose', speaker_id: 3, start: 20, end: 22, speaker: 'SPEAKER_03' }],
  ].map(([speaker_name, said]) => ({
    ...{ speaker: 'SPEAKER_00', is_user: false, person_id: null },
    ...{ speaker_name, ...(said as object) },
  }));
  const { key } = await keys.create(user.id, { name: 'r' });
  for (const yes of ['true', '1', 'TRUE']) {
    const single = JSON.parse((await ask(`${LIST}/${id}?include_transcript=${yes}`, key)).text);
    t.deepEqual(single.transcript_segments, expected);
  }
  const [newest, oldest] = JSON.parse((await ask(`${LIST}?include_transcript=true`)).text);
  t.is(newest.id, silent.id);
  t.is(newest.transcript_segments.length, 1);
  t.deepEqual(oldest.transcript_segments, expected);
  for (const no of ['', '?include_transcript=false', '?include_transcript='])
    t.false('transcript_segments' in JSON.parse((await ask(`${LIST}/${id}${no}`)).text));
});

test('A list contains completed conversations that are neither discarded nor locked, newest first', async t => {
  const { ids, complete, conversations, storage, user, clock } = await start(t);
  const one = await complete();
  const two = await complete();
  const discarded = await complete();
  await storage.conversations.update(user.id, discarded.id, { discarded: true });
  const locked = await complete();
  await storage.conversations.update(user.id, locked.id, { locked: true });
  const failed = await complete();
  await storage.conversations.update(user.id, failed.id, { status: 'failed' });
  clock.advance(1000);
  await conversations.open({
    userId: user.id,
    source: 'omi',
    deviceId: null,
    language: 'en',
    timeoutMs: 2000,
  });
  t.deepEqual(await ids(), [two.id, one.id]);
});

test('Conversations of the same instant are ordered by id', async t => {
  const { ids, conversations, clock, user } = await start(t);
  const made: string[] = [];
  for (let count = 0; count < 8; count += 1)
    made.push((await completedConversation({ conversations, clock }, user.id)).id);
  t.deepEqual(await ids(), made.toSorted());
});

test('A single conversation is found whatever its status, unless it is locked', async t => {
  const { ask, complete, conversations, storage, user } = await start(t);
  const { id } = await conversations.open({
    userId: user.id,
    source: 'omi',
    deviceId: null,
    language: 'multi',
    timeoutMs: 2000,
  });
  const open = ConversationJson.parse(JSON.parse((await ask(`${LIST}/${id}?include_transcript=true`)).text));
  t.like(open, { status: 'in_progress', started_at: null, finished_at: null, transcript_segments: [] });
  t.deepEqual(open.structured, {
    title: '',
    overview: '',
    category: 'other',
    emoji: '🧠',
    action_items: [],
    events: [],
  });
  const { id: locked } = await complete();
  await storage.conversations.update(user.id, locked, { locked: true });
  t.is((await ask(`${LIST}/${locked}`)).status, 404);
});

test('Unknown, locked, invalid ids and those of other users get the same 404, byte for byte', async t => {
  const { ask, users, complete, storage, user, url, ...domain } = await start(t);
  const ben = await users.add('ben');
  const foreign = await completedConversation({ ...domain }, ben.id);
  const { id: locked } = await complete();
  await storage.conversations.update(user.id, locked, { locked: true });
  const odd = ['x', '%00', '%2e%2e%2fetc', "'%20or%201=1", locked.toUpperCase(), '%ff', 'ö'];
  for (const id of [...odd, locked, foreign.id, '01890000-0000-7000-8000-000000000000']) {
    const { status, text } = await ask(`${LIST}/${id}`);
    t.is(status, 404, id);
    t.is(text, '{"detail":"Conversation not found"}');
  }
  t.truthy(url);
});

test('Lists contain only data of the calling user', async t => {
  const { ask, users, complete } = await start(t);
  await complete();
  await users.add('ben');
  t.is((await ask(LIST, await users.token('ben'))).text, '[]');
});

test('limit and offset are clamped to their range, also with transcripts', async t => {
  const { ids, complete } = await start(t);
  const all: string[] = [];
  for (let count = 0; count < 27; count += 1) all.unshift((await complete()).id);

  t.deepEqual(await ids(), all.slice(0, 25));
  t.deepEqual(await ids('limit=26'), all.slice(0, 26));
  t.deepEqual(await ids('limit=1000000000000000000000'), all);
  t.deepEqual(await ids('limit=1000&include_transcript=true'), all);
  t.deepEqual(await ids('limit=3&include_transcript=true'), all.slice(0, 3));
  t.deepEqual(await ids('limit=0'), all.slice(0, 1));
  t.deepEqual(await ids('limit=-7&offset=-3'), all.slice(0, 1));
  t.deepEqual(await ids('limit=2&offset=3'), all.slice(3, 5));
  t.deepEqual(await ids('limit=2&limit=1&offset='), all.slice(0, 1), 'the last of several counts');
  t.deepEqual(await ids('offset=27'), []);
  t.deepEqual(await ids('offset=99999999999999999999'), []);
});

test('Categories are combined with "or", and spaces between them are ignored', async t => {
  const { ids, complete } = await start(t);
  const health = await complete({ category: 'health' });
  const work = await complete({ category: 'work' });
  await complete({ category: 'music' });
  t.deepEqual(await ids('categories=health'), [health.id]);
  t.deepEqual(await ids('categories=health,%20work,,'), [work.id, health.id]);
  t.is((await ids('categories=')).length, 3);
  t.is((await ids('categories=,')).length, 3);
  t.deepEqual(await ids('categories=sports'), []);
});

test('Starred and folder narrow a list; an unknown folder is an empty one', async t => {
  const { ids, complete, storage, user } = await start(t);
  const folderId = '01890000-0000-7000-8000-0000000000aa';
  const plain = await complete();
  const special = await complete();
  await storage.conversations.update(user.id, special.id, { starred: true, folderId });
  t.deepEqual(await ids('starred=true'), [special.id]);
  t.deepEqual(await ids('starred=0'), [plain.id]);
  t.deepEqual(await ids('starred='), [special.id, plain.id]);
  t.deepEqual(await ids(`folder_id=${folderId}`), [special.id]);
  t.deepEqual(await ids('folder_id=01890000-0000-7000-8000-0000000000ab'), []);
  t.deepEqual(await ids('folder_id=work'), []);
});

test('Source and person narrow a list; an unknown one gives an empty list', async t => {
  const { ids, complete, storage, user, people } = await start(t);
  const eve = await people.create(user.id, 'Eve');
  const plain = await complete();
  const special = await complete();
  const [segment] = await storage.segments.list(user.id, [special.id]);
  if (!segment) return t.fail('nothing was said');
  await storage.segments.upsert([{ ...segment, personId: eve.id }]);
  await storage.conversations.update(user.id, special.id, { source: 'limitless' });
  t.deepEqual(await ids('source=limitless'), [special.id]);
  t.deepEqual(await ids('source='), [special.id, plain.id]);
  t.deepEqual(await ids('source=radio'), []);
  t.deepEqual(await ids(`person_id=${eve.id}`), [special.id]);
  t.deepEqual(await ids(`person_id=${eve.id}&source=omi`), []);
  t.deepEqual(await ids('person_id=nobody'), []);
});

test('Dates are inclusive at both ends: instants with or without a zone, and days in UTC', async t => {
  const { ids, complete, clock } = await start(t);
  const midnight = Math.ceil(clock.now() / DAY_MS) * DAY_MS;
  const at = async (instant: number) => {
    clock.advance(instant - clock.now());
    return (await complete()).id;
  };
  const evening = await at(midnight - 1);
  const first = await at(midnight);
  const noon = await at(midnight + DAY_MS / 2);
  const day = (offset: number) => new Date(midnight + offset * DAY_MS).toISOString().slice(0, 10);
  const iso = (instant: number) => new Date(instant).toISOString();

  t.deepEqual(await ids(`start_date=${day(0)}`), [noon, first]);
  t.deepEqual(await ids(`end_date=${day(-1)}`), [evening]);
  t.deepEqual(await ids(`start_date=${day(-1)}&end_date=${day(0)}`), [noon, first, evening]);
  t.deepEqual(await ids(`start_date=${iso(midnight)}&end_date=${iso(midnight)}`), [first]);
  t.deepEqual(await ids(`start_date=${iso(midnight + 1)}`), [noon]);
  t.deepEqual(await ids(`end_date=${iso(midnight - 1)}`), [evening]);
  t.deepEqual(await ids(`start_date=${day(0)}T12:00:00`), [noon], 'no zone is UTC');
  t.deepEqual(await ids(`start_date=${day(0)}T14:00:00%2B02:00`), [noon]);
  t.deepEqual(await ids(`start_date=${day(0)}T14:00:00+02:00`), [noon], 'an unencoded plus');
  t.deepEqual(await ids(`start_date=${day(0)}T10:00-0200&end_date=`), [noon]);
  t.deepEqual(await ids(`start_date=${day(1)}&end_date=${day(0)}`), []);
});

test('All invalid parameters are reported at once', async t => {
  const { ask } = await start(t);
  const bad = [
    'limit=ten',
    'offset=1.5',
    'include_transcript=maybe',
    'starred=2',
    'folder_id=',
    'categories=work,fun',
    'start_date=2026-02-30',
    'end_date=yesterday',
  ].join('&');
  const { status, text } = await ask(`${LIST}?${bad}`);
  t.is(status, 422);
  const { detail } = JSON.parse(text);
  const kinds = Object.fromEntries(
    detail.map(({ loc, type }: { loc: string[]; type: string }) => [loc.join('.'), type]),
  );
  t.deepEqual(kinds, {
    'query.limit': 'int_parsing',
    'query.offset': 'int_parsing',
    'query.include_transcript': 'bool_parsing',
    'query.starred': 'bool_parsing',
    'query.folder_id': 'string_too_short',
    'query.categories': 'enum',
    'query.start_date': 'datetime_parsing',
    'query.end_date': 'datetime_parsing',
  });
  for (const issue of detail) t.deepEqual(Object.keys(issue), ['loc', 'msg', 'type']);
  t.is((await ask(`${LIST}?folder_id=%20`)).status, 422);
  for (const date of [
    '2026-01-01T24:00',
    '2026-13-01',
    '2026-1-1',
    '2026-01-01T10:60',
    '2026-01-01T10:00+24:00',
    '0',
  ])
    t.is((await ask(`${LIST}?start_date=${encodeURIComponent(date)}`)).status, 422, date);
  t.is((await ask(`${LIST}?unknown=1&limit=`)).status, 200);
});
