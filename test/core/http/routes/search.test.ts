import test, { type ExecutionContext } from 'ava';
import { openDatabases } from '../../../helpers/databases.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const LIST = '/v1/dev/user/conversations';
const PATH = `${LIST}/search`;

type Json = Record<string, unknown>;
type Rest = Awaited<ReturnType<typeof start>>;

async function start(t: ExecutionContext, open?: Parameters<typeof openRest>[1]) {
  const rest = await openRest(t, open);
  const { send, user } = rest;
  const found = async (query: string, more = ''): Promise<Json[]> => {
    const answer = await send('GET', `${PATH}?query=${encodeURIComponent(query)}${more}`);
    t.is(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const ids = async (query: string, more = '') => (await found(query, more)).map(({ id }) => id);
  const about = async (texts: string[], title = 'Title') =>
    (await completedConversation(rest, user.id, texts, { title })).id;
  return { ...rest, found, ids, about };
}

for (const { name, open } of await openDatabases(test)) {
  const on = (title: string, run: (t: ExecutionContext, rest: Rest) => Promise<void>) =>
    test.serial(`${name}: ${title}`, async t => run(t, await start(t, open)));

  on(
    'a conversation is found by its title, its overview and its transcript, with the best passage',
    async (t, rest) => {
      const { about, found, send } = rest;
      const id = await about(
        ['We met José at the station.', 'x '.repeat(300), 'The lighthouse was closed.'],
        'A Journey',
      );
      for (const query of ['journey', 'OVERVIEW', 'jose', 'Lighthouse?', 'no such words but station']) {
        const [hit, ...others] = await found(query);
        t.is(others.length, 0, query);
        const { snippet, ...conversation } = hit as Json;
        t.deepEqual(conversation, (await send('GET', `${LIST}/${id}`)).body, query);
        t.true(String(snippet).length <= 500);
      }
      t.regex(String((await found('lighthouse'))[0]?.snippet), /The lighthouse was closed\.$/);
      t.regex(String((await found('jose'))[0]?.snippet), /José at the station/);
      for (const query of ['lighthous', '?!', 'beer', '"AND" OR -*'])
        t.deepEqual(await found(query), [], query);
    },
  );

  on('the best results come first, in pages', async (t, { about, ids }) => {
    const once = await about(['There was some tea, and there was much else to be told of that day.']);
    const both = await about(['Green tea, there was, and there was much else to be told of that day.']);
    const often = await about(['Green tea. Green tea!']);
    t.deepEqual(await ids('green tea'), [often, both, once]);
    t.deepEqual(await ids('green tea', '&limit=1'), [often]);
    t.deepEqual(await ids('green tea', '&limit=0&offset=1'), [both]);
    t.deepEqual(await ids('green tea', '&limit=9999&offset=2'), [once]);
    t.deepEqual(await ids('green tea', '&offset=3'), []);
  });

  on('only listed conversations are found', async (t, rest) => {
    const { about, ids, send, storage, user, conversations } = rest;
    const id = await about(['tea']);
    const patch = (body: Json) => send('PATCH', `${LIST}/${id}`, body);
    await patch({ discarded: true });
    t.deepEqual(await ids('tea'), []);
    await patch({ discarded: false });
    t.deepEqual(await ids('tea'), [id]);
    await storage.conversations.update(user.id, id, { locked: true });
    t.deepEqual(await ids('tea'), []);
    await storage.conversations.update(user.id, id, { locked: false, status: 'processing' });
    t.deepEqual(await ids('tea'), []);
    await conversations.fail(user.id, id);
    t.deepEqual(await ids('tea'), []);
    const request = { userId: user.id, source: 'omi', deviceId: null, language: 'en', timeoutMs: 120_000 };
    const { id: going } = await conversations.open(request);
    t.deepEqual(await ids('tea'), []);
    await send('DELETE', `${LIST}/${going}`);
  });

  on('it is found by its current text', async (t, rest) => {
    const { send, ids, user, run, processed } = rest;
    const { id, segments } = await completedConversation(rest, user.id, ['the lighthouse', 'the station']);
    await send('PATCH', `${LIST}/${id}`, { title: 'Harbour' });
    t.deepEqual(await ids('harbour'), [id]);
    t.deepEqual(await ids('title'), []);
    run();
    const again = processed(1);
    await send('PATCH', `/v1/conversations/${id}/segments/${segments[0]?.id}`, { text: 'the mill' });
    rest.clock.advance(10_000); // the correction is processed after the last of them
    await again;
    t.deepEqual([await ids('mill'), await ids('lighthouse')], [[id], []]);
    const both = processed(2);
    const part = (await send('POST', `/v1/conversations/${id}/split`, { segment_id: segments[1]?.id })).body;
    await both;
    t.deepEqual([await ids('mill'), await ids('station')], [[id], [part.id]]);
    await send('DELETE', `${LIST}/${id}`);
    t.deepEqual(await ids('mill'), []);
  });

  on('speech of another user is never found', async (t, rest) => {
    const { users, about, found, send, keys, user } = rest;
    await about(['tea']);
    const ben = await users.add('ben');
    const token = await users.token('ben');
    t.deepEqual((await send('GET', `${PATH}?query=tea`, undefined, token)).body, []);
    await completedConversation(rest, ben.id, ['tea with ben']);
    t.is((await found('tea ben')).length, 1);
    const reader = await keys.create(user.id, { name: 'r', scopes: ['conversations:read'] });
    const writer = await keys.create(user.id, { name: 'w', scopes: ['conversations:write'] });
    t.is((await send('GET', `${PATH}?query=tea`, undefined, null)).status, 401);
    t.is((await send('GET', `${PATH}?query=tea`, undefined, writer.key)).status, 403);
    t.is((await send('GET', `${PATH}?query=tea`, undefined, reader.key)).status, 200);
  });

  on(
    'without a query the newest come first, and a long one is limited to its first words',
    async (t, rest) => {
      const { issues, about, ids, send } = rest;
      await about(['coffee']);
      rest.clock.advance(1000);
      await about(['beer']);
      const listed = (await send('GET', LIST)).body;
      t.true(listed.length > 1);
      for (const query of ['', '?query=', '?query=%20'])
        t.deepEqual(
          (await send('GET', `${PATH}${query}`)).body,
          listed.map((conversation: Json) => ({ ...conversation, snippet: '' })),
        );
      t.deepEqual((await send('GET', `${PATH}?limit=1&offset=1`)).body[0].id, listed[1].id);
      t.deepEqual(await issues('GET', `${PATH}?query=a%00b`, undefined), { 'query.query': 'value_error' });
      t.deepEqual(await issues('GET', `${PATH}?query=x&limit=x`, undefined), {
        'query.limit': 'int_parsing',
      });
      t.deepEqual(await issues('GET', `${PATH}?query=${'x'.repeat(1001)}`, undefined), {
        'query.query': 'string_too_long',
      });
      const id = await about(['tea']);
      t.deepEqual(await ids(`tea ${'w '.repeat(498)}`), [id]);
    },
  );
}
