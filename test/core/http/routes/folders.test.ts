import test, { type ExecutionContext } from 'ava';
import { CATEGORY_EMOJI } from '../../../../core/domain/conversations/categories.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const FOLDERS = '/v1/dev/user/folders';
const LIST = '/v1/dev/user/conversations';

async function start(t: ExecutionContext) {
  const rest = await openRest(t);
  const complete = async (category: string) =>
    (await completedConversation(rest, rest.user.id, ['x'], { category })).id;
  const folders = async (credential?: string): Promise<Record<string, unknown>[]> =>
    (await rest.send('GET', FOLDERS, undefined, credential)).body;
  const get = async (id: string) => (await rest.send('GET', `${LIST}/${id}`)).body;
  return { ...rest, complete, folders, get };
}

test('Reading folders of a user without any returns none, and creates none', async t => {
  const { send, storage, user, keys } = await start(t);
  const reader = await keys.create(user.id, { name: 'r', scopes: ['conversations:read'] });
  const writer = await keys.create(user.id, { name: 'w', scopes: ['conversations:write'] });
  t.like(await send('GET', FOLDERS, undefined, reader.key), { status: 200, body: [] });
  t.is((await send('GET', FOLDERS, undefined, writer.key)).status, 403);
  t.is((await send('GET', FOLDERS, undefined, null)).status, 401);
  t.deepEqual(await storage.folders.list(user.id), []);
});

test('The first filed conversation creates the system folders, for its owner only', async t => {
  const { complete, folders, clock, users } = await start(t);
  const now = new Date(clock.now()).toISOString();
  await complete('work');
  const [work, personal, social, ...others] = await folders();
  t.deepEqual(work, {
    id: work?.id,
    name: 'Work',
    description: '',
    color: '#3B82F6',
    icon: '💼',
    created_at: now,
    updated_at: now,
    order: 0,
    is_default: false,
    is_system: true,
    conversation_count: 1,
  });
  t.like(personal, { name: 'Personal', icon: '👤', color: '#10B981', order: 1, conversation_count: 0 });
  t.like(social, { name: 'Social', icon: '👥', color: '#8B5CF6', order: 2, is_system: true });
  t.is(others.length, 0);
  await complete('music');
  t.deepEqual(
    (await folders()).map(({ id, conversation_count }) => [id, conversation_count]),
    [
      [work?.id, 1],
      [personal?.id, 0],
      [social?.id, 1],
    ],
  );
  await users.add('ben');
  t.deepEqual(await folders(await users.token('ben')), []);
});

test('Every category has its folder', async t => {
  const { complete, get } = await start(t);
  const filed: Record<string, string[]> = {};
  for (const category of Object.keys(CATEGORY_EMOJI)) {
    const { folder_name } = await get(await complete(category));
    filed[folder_name] = [...(filed[folder_name] ?? []), category];
  }
  const words = (text: string) => text.split(' ').sort();
  t.deepEqual(Object.keys(filed).sort(), ['Personal', 'Social', 'Work']);
  t.deepEqual(
    filed.Work?.sort(),
    words(
      'work business entrepreneurship technology finance economics legal education science architecture design',
    ),
  );
  t.deepEqual(
    filed.Social?.sort(),
    words('social entertainment music politics news weather environment real'),
  );
});

test('A conversation can be moved, removed from its folder, and found by it; discarded ones do not count', async t => {
  const { complete, folders, get, send } = await start(t);
  const id = await complete('work');
  const counts = async () => (await folders()).map(({ conversation_count: count }) => count);
  const social = (await folders())[2]?.id;
  const moved = await send('PATCH', `${LIST}/${id}`, { folder_id: social });
  t.like(moved, { status: 200, body: { folder_id: social, folder_name: 'Social' } });
  t.deepEqual(await get(id), moved.body);
  t.deepEqual((await send('GET', `${LIST}?folder_id=${social}`)).body, [moved.body]);
  t.deepEqual(await counts(), [0, 0, 1]);
  await send('PATCH', `${LIST}/${id}`, { discarded: true });
  t.deepEqual(await counts(), [0, 0, 0]);
  await send('PATCH', `${LIST}/${id}`, { discarded: false, folder_id: null });
  t.like(await get(id), { folder_id: null, folder_name: null });
  t.deepEqual((await send('GET', `${LIST}?folder_id=${social}`)).body, []);
});

test('Another user’s folder is treated as missing', async t => {
  const rest = await start(t);
  await rest.complete('work');
  const annas = (await rest.folders())[1]?.id;
  const ben = await rest.users.add('ben');
  const token = await rest.users.token('ben');
  const { id } = await completedConversation(rest, ben.id);
  const answer = await rest.send('PATCH', `${LIST}/${id}`, { folder_id: annas }, token);
  t.like(answer, { status: 404, body: { detail: 'Folder not found' } });
  t.deepEqual((await rest.send('GET', `${LIST}?folder_id=${annas}`, undefined, token)).body, []);
});

test('A conversation filed or discarded before it is processed stays so', async t => {
  const { complete, folders, get, send, conversations, storage, user } = await start(t);
  await complete('other');
  const social = (await folders())[2]?.id;
  const request = { userId: user.id, source: 'omi', deviceId: null, language: 'en', timeoutMs: 120_000 };
  const early = async (patch: object) => {
    const { id } = await conversations.open(request);
    await send('PATCH', `${LIST}/${id}`, patch);
    await storage.conversations.update(user.id, id, { status: 'processing' });
    const structured = { title: 't', overview: '', category: 'work', emoji: '', actionItems: [], events: [] };
    t.true(await conversations.complete(user.id, id, structured));
    return get(id);
  };
  t.is((await early({ folder_id: social })).folder_name, 'Social');
  t.is((await early({ discarded: true })).folder_name, null);
  t.is((await early({ starred: true })).folder_name, 'Work');
});
