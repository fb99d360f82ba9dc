import test, { type ExecutionContext } from 'ava';
import { forgetVocabularyIn } from '../../../../core/domain/accounts/vocabulary.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const PEOPLE = '/v1/people';
const VOCABULARY = '/v1/users/vocabulary';
const FOLDERS = '/v1/folders';
const CONVERSATIONS = '/v1/dev/user/conversations';
const UNKNOWN = '01890000-0000-7000-8000-000000000000';

type Json = Record<string, unknown>;
type Rest = Awaited<ReturnType<typeof start>>;

async function start(t: ExecutionContext, open?: Parameters<typeof openRest>[1]) {
  const rest = await openRest(t, open);
  const good = async (method: string, path: string, body?: Json) => {
    const answer = await rest.send(method, path, body);
    t.is(answer.status, 200, `${method} ${path} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  return { ...rest, good };
}

for (const { name, open } of await openDatabases(test)) {
  const on = (title: string, run: (t: ExecutionContext, rest: Rest) => Promise<void>) =>
    test.serial(`${name}: ${title}`, async t => run(t, await start(t, open)));

  on('people are created, renamed, listed and deleted', async (t, { good, clock, send }) => {
    t.deepEqual(await good('GET', PEOPLE), []);
    const eve = await good('POST', PEOPLE, { name: ' Eve ' });
    t.deepEqual(eve, { id: eve.id, name: 'Eve', created_at: new Date(clock.now()).toISOString() });
    clock.advance(1);
    const other = await good('POST', PEOPLE, { name: 'Eve' });
    t.deepEqual(await good('GET', PEOPLE), [eve, other]);
    const renamed = await good('PATCH', `${PEOPLE}/${eve.id}`, { name: '🙂'.repeat(200) });
    t.deepEqual(renamed, { ...eve, name: '🙂'.repeat(200) });
    t.deepEqual(await good('DELETE', `${PEOPLE}/${other.id}`), { success: true });
    t.deepEqual(await good('GET', PEOPLE), [renamed]);
    t.is((await send('DELETE', `${PEOPLE}/${other.id}`)).status, 404);
  });

  on('a vocabulary is replaced as a whole, has no duplicates, and is private', async (t, rest) => {
    const { good, issues, send, users, user, storage, vocabularies } = rest;
    await users.add('ben');
    const ben = await users.token('ben');
    t.deepEqual(await good('GET', VOCABULARY), { words: [] });
    const words = ['Earshot', ' Dr. Okonkwo ', 'earshot'];
    t.deepEqual(await good('PUT', VOCABULARY, { words }), { words: ['Earshot', 'Dr. Okonkwo'] });
    t.deepEqual(await good('GET', VOCABULARY), { words: ['Earshot', 'Dr. Okonkwo'] });
    t.deepEqual(
      (await send('GET', VOCABULARY, undefined, ben)).body,
      { words: [] },
      'another user has none of it',
    );
    await good('POST', '/v1/people', { name: 'Eve' });
    await good('POST', '/v1/people', { name: 'EARSHOT' });
    t.deepEqual(await vocabularies.expected(user.id), ['Earshot', 'Dr. Okonkwo', 'Eve']);
    for (const bad of [
      ['a'.repeat(101)],
      [''],
      ['a\nb'],
      Array.from({ length: 501 }, (_, at) => `w${at}`),
      'Eve',
    ])
      t.not(Object.keys(await issues('PUT', VOCABULARY, { words: bad })).length, 0);
    t.deepEqual(await vocabularies.remove(user.id, ['EARSHOT']), ['Dr. Okonkwo']);
    await t.throwsAsync(vocabularies.add(user.id, ['x'.repeat(101)]), { code: 'invalid_request' });
    await storage.transaction('forget', tx => forgetVocabularyIn(tx, user.id));
    t.deepEqual(await good('GET', VOCABULARY), { words: [] });
  });

  on('listed names are on one line, without control characters', async (t, { issues }) => {
    const body = {
      name: 'Eve\u001b[2J\r\n',
      label: 'a\u0007b',
      channel: 'log',
      address: {},
      scopes: ['listen'],
    };
    for (const [path, field] of [
      [PEOPLE, 'name'],
      [FOLDERS, 'name'],
      ['/v1/apps', 'name'],
      ['/v1/dev/keys', 'name'],
      ['/v1/notifications/addresses', 'label'],
    ] as const) {
      const found = await issues('POST', path, { ...body, name: 'E\u001b[2Jve\r\nMallory' });
      t.is(found[`body.${field}`], 'value_error', `${path} ${JSON.stringify(found)}`);
    }
  });

  on('deleting a person removes the name from all segments', async (t, rest) => {
    const { good, storage, user } = rest;
    const { id: personId } = await good('POST', PEOPLE, { name: 'Eve' });
    const { id, segments } = await completedConversation(rest, user.id, ['one', 'two']);
    await storage.segments.upsert(segments.map(segment => ({ ...segment, personId })));
    const names = async () => {
      const { transcript_segments: said } = await good(
        'GET',
        `${CONVERSATIONS}/${id}?include_transcript=true`,
      );
      return said.map((segment: Json) => segment.speaker_name);
    };
    t.deepEqual(await names(), ['Eve', 'Eve']);
    await good('DELETE', `${PEOPLE}/${personId}`);
    t.deepEqual(await names(), ['Speaker 0', 'Speaker 0']);
  });

  on('own folders come last, can be changed, and deleted', async (t, rest) => {
    const { good, clock, user, send } = rest;
    const first = await good('POST', FOLDERS, { name: ' Garden ' });
    t.like(first, {
      name: 'Garden',
      description: '',
      color: '#6B7280',
      icon: '📁',
      order: 0,
      is_system: false,
    });
    await completedConversation(rest, user.id, ['x'], { category: 'work' });
    const full = { name: 'House', description: 'all of it', color: '#00FFaa', icon: '👨‍👩‍👧‍👦' };
    const second = await good('POST', FOLDERS, full);
    t.like(second, { ...full, order: 3, conversation_count: 0 });
    const { id } = await completedConversation(rest, user.id);
    await good('PATCH', `${CONVERSATIONS}/${id}`, { folder_id: second.id });
    clock.advance(1000);
    const changed = await good('PATCH', `${FOLDERS}/${second.id}`, { name: 'Home', icon: '🏠' });
    const updated_at = new Date(clock.now()).toISOString();
    t.deepEqual(changed, { ...second, name: 'Home', icon: '🏠', updated_at, conversation_count: 1 });
    const bare = await good('PATCH', `${FOLDERS}/${second.id}`, { description: '' });
    t.deepEqual(bare, { ...changed, description: '', updated_at: bare.updated_at });
    t.is((await good('GET', `${CONVERSATIONS}/${id}`)).folder_name, 'Home');
    t.deepEqual(await good('DELETE', `${FOLDERS}/${second.id}`), { success: true });
    t.is((await good('GET', `${CONVERSATIONS}/${id}`)).folder_name, 'Personal');
    t.is((await send('DELETE', `${FOLDERS}/${second.id}`)).status, 404);
    const names = (await good('GET', '/v1/dev/user/folders')).map((folder: Json) => folder.name);
    t.deepEqual([names.length, names.includes('Garden')], [4, true]);
  });

  on('deleting a folder creates Personal if it does not exist', async (t, { good }) => {
    const { id } = await good('POST', FOLDERS, { name: 'Garden' });
    await good('DELETE', `${FOLDERS}/${id}`);
    const folders = await good('GET', '/v1/dev/user/folders');
    t.deepEqual(
      folders.map((folder: Json) => folder.name),
      ['Work', 'Personal', 'Social'],
    );
  });

  on('a system folder keeps its name and cannot be deleted', async (t, rest) => {
    const { good, issues, send, user } = rest;
    await completedConversation(rest, user.id, ['x'], { category: 'work' });
    const [work] = await good('GET', '/v1/dev/user/folders');
    const path = `${FOLDERS}/${work.id}`;
    t.deepEqual(await issues('PATCH', path, { name: 'Toil' }), { 'body.name': 'value_error' });
    t.like(await good('PATCH', path, { name: 'Work', color: '#000000' }), { name: 'Work', color: '#000000' });
    const refused = {
      status: 409,
      body: { detail: 'Work is a folder of the system, and cannot be deleted' },
    };
    t.like(await send('DELETE', path), refused);
    t.is((await good('GET', '/v1/dev/user/folders')).length, 3);
  });

  on('all errors are reported with their paths', async (t, { issues }) => {
    const folder = (body: Json) => ({ name: 'x', ...body });
    const rows: [string, string, unknown, Json][] = [
      ['POST', PEOPLE, {}, { 'body.name': 'missing' }],
      ['POST', PEOPLE, { name: ' ' }, { 'body.name': 'string_too_short' }],
      ['POST', PEOPLE, { name: '🙂'.repeat(201) }, { 'body.name': 'string_too_long' }],
      ['PATCH', `${PEOPLE}/${UNKNOWN}`, { name: null }, { 'body.name': 'string_type' }],
      ['POST', FOLDERS, {}, { 'body.name': 'missing' }],
      ['POST', FOLDERS, folder({ name: 'x'.repeat(101) }), { 'body.name': 'string_too_long' }],
      ['POST', FOLDERS, folder({ description: 'x'.repeat(501) }), { 'body.description': 'string_too_long' }],
      ['POST', FOLDERS, folder({ color: 'red' }), { 'body.color': 'string_pattern_mismatch' }],
      ['POST', FOLDERS, folder({ icon: 'x'.repeat(17) }), { 'body.icon': 'string_too_long' }],
      ['PATCH', `${FOLDERS}/${UNKNOWN}`, { order: 1 }, { body: 'missing' }],
      ['PATCH', `${FOLDERS}/${UNKNOWN}`, { name: null }, { 'body.name': 'string_type' }],
    ];
    for (const [method, path, body, expected] of rows)
      t.deepEqual(
        await issues(method, path, body),
        expected as never,
        `${method} ${path} ${JSON.stringify(body)}`,
      );
  });

  on('they accept only an ID token, and data of others looks missing', async (t, rest) => {
    const { send, keys, user, users, good } = rest;
    const { key } = await keys.create(user.id, { name: 'k' });
    const person = await good('POST', PEOPLE, { name: 'Eve' });
    const folder = await good('POST', FOLDERS, { name: 'Garden' });
    await users.add('ben');
    const ben = await users.token('ben');
    const calls: [string, string, Json | undefined, string | null][] = [
      ['GET', PEOPLE, undefined, null],
      ['POST', PEOPLE, { name: 'x' }, null],
      ['PATCH', `${PEOPLE}/${person.id}`, { name: 'x' }, 'Person not found'],
      ['DELETE', `${PEOPLE}/${person.id}`, undefined, 'Person not found'],
      ['POST', FOLDERS, { name: 'x' }, null],
      ['PATCH', `${FOLDERS}/${folder.id}`, { name: 'x' }, 'Folder not found'],
      ['DELETE', `${FOLDERS}/${folder.id}`, undefined, 'Folder not found'],
    ];
    for (const [method, path, body, detail] of calls) {
      const row = `${method} ${path}`;
      t.is((await send(method, path, body, null)).status, 401, row);
      t.is((await send(method, path, body, key)).status, 401, row);
      if (detail) t.like(await send(method, path, body, ben), { status: 404, body: { detail } }, row);
    }
    for (const path of [PEOPLE, FOLDERS]) t.is((await send('DELETE', `${path}/nonsense`)).status, 404);
    t.deepEqual(await good('GET', PEOPLE), [person]);
    t.is((await good('GET', '/v1/dev/user/folders')).length, 1);
  });
}
