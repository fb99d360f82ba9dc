import test, { type ExecutionContext } from 'ava';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const LIST = '/v1/dev/user/conversations';
const UNKNOWN = '01890000-0000-7000-8000-000000000000';

async function start(t: ExecutionContext) {
  const rest = await openRest(t);
  const { id } = await completedConversation(rest, rest.user.id, ['hello'], { title: 'Before' });
  return { ...rest, id, path: `${LIST}/${id}` };
}

test('A PATCH changes only the named fields, and returns the conversation', async t => {
  const { send, path } = await start(t);
  const before = (await send('GET', path)).body;
  const changed = await send('PATCH', path, { title: '  Tea with Eve ', starred: true, more: 1 });
  t.is(changed.status, 200);
  const structured = { ...before.structured, title: 'Tea with Eve' };
  t.deepEqual(changed.body, { ...before, structured, starred: true });
  t.deepEqual((await send('GET', path)).body, changed.body);
  t.deepEqual((await send('GET', `${LIST}?starred=true`)).body, [changed.body]);

  const body = { discarded: true, folder_id: null, folder_name: null };
  t.like(await send('PATCH', path, { discarded: true, folder_id: null }), { body });
  t.deepEqual((await send('GET', LIST)).body, []);
  t.like(await send('PATCH', path, { discarded: false, starred: false }), { body: { starred: false } });
  t.is((await send('GET', LIST)).body.length, 1);
});

test('A PATCH with unknown fields only, or with an invalid value, is rejected with its path', async t => {
  const { send, path, issues } = await start(t);
  const before = (await send('GET', path)).body;
  t.deepEqual(await issues('PATCH', path, {}), { body: 'missing' });
  t.deepEqual(await issues('PATCH', path, { status: 'failed' }), { body: 'missing' });
  t.deepEqual(await issues('PATCH', path, { title: null, discarded: null, starred: 'yes', folder_id: 1 }), {
    'body.title': 'string_type',
    'body.discarded': 'bool_type',
    'body.starred': 'bool_type',
    'body.folder_id': 'string_type',
  });
  t.deepEqual(await issues('PATCH', path, { title: ' ', starred: true }), {
    'body.title': 'string_too_short',
  });
  t.deepEqual(await issues('PATCH', path, { title: '🙂'.repeat(501) }), { 'body.title': 'string_too_long' });
  t.is((await send('PATCH', path, { title: '🙂'.repeat(500) })).status, 200);
  t.is((await send('PATCH', path, { title: before.structured.title })).status, 200);
  t.deepEqual((await send('GET', path)).body, before);
});

test('An unknown folder is a 404, and nothing is changed', async t => {
  const { send, path } = await start(t);
  const before = (await send('GET', path)).body;
  for (const folder_id of [UNKNOWN, 'work']) {
    const answer = await send('PATCH', path, { folder_id, starred: true });
    t.like(answer, { status: 404, body: { detail: 'Folder not found' } });
  }
  t.deepEqual((await send('GET', path)).body, before);
});

test('A DELETE removes the conversation with its segments, once', async t => {
  const { send, path, id, storage, user } = await start(t);
  t.like(await send('DELETE', path), { status: 200, body: { success: true } });
  t.is((await send('GET', path)).status, 404);
  t.is((await send('DELETE', path)).status, 404);
  t.is(await storage.segments.count(user.id, id), 0);
});

test('Unknown, invalid ids and those of other users get the same 404, and nothing is changed', async t => {
  const { send, path, id, users, conversations, user } = await start(t);
  const before = await conversations.get(user.id, id);
  await users.add('ben');
  const ben = await users.token('ben');
  const requests: [string, string | undefined][] = [
    [path, ben],
    [`${LIST}/${UNKNOWN}`, undefined],
    [`${LIST}/${id.toUpperCase()}`, undefined],
    [`${LIST}/nonsense`, undefined],
  ];
  for (const [target, credential] of requests) {
    for (const [method, body] of [['PATCH', { starred: true }] as const, ['DELETE', undefined] as const]) {
      const answer = await send(method, target, body, credential);
      t.like(answer, { status: 404, body: { detail: 'Conversation not found' } }, `${method} ${target}`);
    }
  }
  t.deepEqual(await conversations.get(user.id, id), before);
});

test('A locked conversation can be neither changed nor deleted', async t => {
  const { send, path, id, storage, user } = await start(t);
  await storage.conversations.update(user.id, id, { locked: true });
  const refused = { status: 423, body: { detail: 'Conversation is locked' } };
  t.like(await send('PATCH', path, { title: 'x' }), refused);
  t.like(await send('DELETE', path), refused);
  t.is((await storage.conversations.get(user.id, id))?.structured.title, 'Before');
});

test('A title that somebody else has changed meanwhile is not overwritten, and the error has both versions', async t => {
  const { send, path } = await start(t);
  t.is((await send('PATCH', path, { title: 'Theirs', expected: { title: 'Before' } })).status, 200);
  const mine = { title: 'Mine', starred: true, expected: { title: 'Before' } };
  t.like(await send('PATCH', path, mine), {
    status: 409,
    body: { detail: { code: 'changed', current: { title: 'Theirs' }, yours: { title: 'Mine' } } },
  });
  t.like((await send('GET', path)).body, { starred: false, structured: { title: 'Theirs' } });
  const again = { ...mine, title: 'Theirs' };
  t.is((await send('PATCH', path, again)).status, 200, 'the same change again is none');
  t.is((await send('PATCH', path, { ...mine, expected: { title: 'Theirs' } })).status, 200);
  t.like((await send('GET', path)).body, { starred: true, structured: { title: 'Mine' } });
});

test('Writing requires the write scope', async t => {
  const { send, path, keys, user } = await start(t);
  const reader = await keys.create(user.id, { name: 'r', scopes: ['conversations:read'] });
  const writer = await keys.create(user.id, { name: 'w', scopes: ['conversations:write'] });
  t.is((await send('PATCH', path, { starred: true }, reader.key)).status, 403);
  t.is((await send('DELETE', path, undefined, reader.key)).status, 403);
  t.is((await send('PATCH', path, { starred: true }, writer.key)).status, 200);
  t.is((await send('DELETE', path, undefined, writer.key)).status, 200);
});

test('A title set before processing is kept', async t => {
  const { send, run, clock, conversations, user } = await start(t);
  const answer = send('POST', `${LIST}/from-segments`, {
    transcript_segments: [{ text: 'The train leaves at seven tomorrow.', start: 0, end: 4 }],
  });
  await clock.asleep(20_000);
  const [processing] = await conversations.list(user.id, { statuses: ['processing'], limit: 2, offset: 0 });
  t.is((await send('PATCH', `${LIST}/${processing?.id}`, { title: 'Mine' })).status, 200);
  run();
  const { id, status } = (await answer).body;
  t.is(status, 'completed');
  const { structured } = (await send('GET', `${LIST}/${id}`)).body;
  t.is(structured.title, 'Mine');
  t.not(structured.overview, '');
});

test('A session whose conversation was deleted does not create another one', async t => {
  const { send, run, clock, conversations, user, events } = await start(t);
  const body = {
    transcript_segments: [{ text: 'Bye.', start: 0, end: 1 }],
    client_session_id: 'once',
  };
  const answer = send('POST', `${LIST}/from-segments`, body);
  await clock.asleep(20_000);
  const [processing] = await conversations.list(user.id, { statuses: ['processing'], limit: 2, offset: 0 });
  const gone = { id: processing?.id, status: 'deleted', discarded: true };
  t.is((await send('DELETE', `${LIST}/${processing?.id}`)).status, 200);
  t.deepEqual((await answer).body, gone, 'who still waits is told');
  t.is(
    events.listenerCount('conversation.dropped'),
    2,
    'and nobody listens any more but this test and the feed',
  );
  run();
  t.deepEqual((await send('POST', `${LIST}/from-segments`, body)).body, gone);
  t.is((await send('GET', `${LIST}/${processing?.id}`)).status, 404);
});

test('Speech during the deletion of a conversation goes into a new one', async t => {
  const { send, conversations, user, told } = await start(t);
  const request = { userId: user.id, source: 'omi', deviceId: null, language: 'en', timeoutMs: 120_000 };
  const { id } = await conversations.open(request);
  t.is((await send('DELETE', `${LIST}/${id}`)).status, 200);
  t.deepEqual(told['conversation.dropped'], [{ userId: user.id, conversationId: id }]);
  t.not((await conversations.open(request)).id, id);
});
