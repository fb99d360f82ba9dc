import test, { type ExecutionContext } from 'ava';
import type { Memory } from '../../../../core/contract/model.ts';
import { createLocks } from '../../../../core/domain/accounts/locks.ts';
import { newId } from '../../../../core/domain/ids.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { openWords } from '../../../helpers/meaning.ts';
import { openRest } from '../../../helpers/rest.ts';

const LIST = '/v1/dev/user/memories';
const BATCH = `${LIST}/batch`;
const UNKNOWN = '01890000-0000-7000-8000-000000000000';

type Rest = Awaited<ReturnType<typeof start>>;
type Json = Record<string, unknown>;

async function start(t: ExecutionContext, open?: Parameters<typeof openRest>[1]) {
  const rest = await openRest(t, open);
  const { send, clock, storage, user } = rest;
  const create = async (body: Json = {}): Promise<Json & { id: string }> => {
    const answer = await send('POST', LIST, { content: 'Likes tea', category: 'other', ...body });
    t.is(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  /** Created one after the other, a second apart. */
  const createAll = async (bodies: Json[]) => {
    const ids: string[] = [];
    for (const body of bodies) {
      ids.push((await create(body)).id);
      clock.advance(1000);
    }
    return ids;
  };
  const ids = async (query = '') => {
    const answer = await send('GET', `${LIST}?${query}`);
    t.is(answer.status, 200, query);
    return answer.body.map((memory: Json) => memory.id);
  };
  const change = (id: string, patch: Partial<Memory>) => storage.memories.update(user.id, id, patch);
  return { ...rest, create, createAll, ids, change };
}

for (const { name, open } of await openDatabases(test)) {
  const on = (title: string, run: (t: ExecutionContext, rest: Rest) => Promise<void>) =>
    test(`${name}: ${title}`, async t => run(t, await start(t, open)));
  /** One server for all rows of a table: one each would overload a busy machine. */
  const onEach: typeof on = (title, run) =>
    test.serial(`${name}: ${title}`, async t => run(t, await start(t, open)));

  // ── fields ────────────────────────────────────────────────────────────────────────────────────────────────────

  on('POST returns every field of a memory, like GET and the list', async (t, { create, send, clock }) => {
    const now = new Date(clock.now()).toISOString();
    const seconds = Math.floor(clock.now() / 1000);
    const made = await create({
      content: '  Plays the violin\n',
      category: 'hobbies',
      visibility: 'public',
      tags: [' music ', '🎻'],
      more: 1,
    });
    t.deepEqual(made, {
      id: made.id,
      content: 'Plays the violin',
      category: 'hobbies',
      visibility: 'public',
      tags: ['music', '🎻'],
      created_at: now,
      updated_at: now,
      manually_added: true,
      scoring: `01_997_${seconds}`,
      reviewed: true,
      user_review: true,
      edited: false,
      said_in: null,
    });
    t.regex(made.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    t.like(await send('GET', `${LIST}/${made.id}`), { status: 200, body: made });
    t.deepEqual((await send('GET', LIST)).body, [made]);
  });

  on(
    'POST with only the required fields creates a private memory without tags, with a category chosen by the server',
    async (t, rest) => {
      const { send, meaning } = rest;
      const embedder = openWords();
      meaning.embedder = () => embedder;
      for (const body of [
        { content: 'Likes tea' },
        { content: 'Likes tea', category: 'auto' },
        { content: 'Likes tea', category: null, visibility: null, tags: null },
      ]) {
        const answer = await send('POST', LIST, body);
        t.like(answer, { status: 200, body: { visibility: 'private', category: 'system' } });
        t.deepEqual(answer.body.tags, []);
      }
      const content = 'Climbed the highest mountain of the continent';
      t.like(await send('POST', LIST, { content }), { body: { category: 'interesting' } });
    },
  );

  for (const [category, rank] of Object.entries({
    ...{ interesting: 998, system: 999, manual: 998, workflow: 997, core: 997, hobbies: 997, lifestyle: 997 },
    ...{ interests: 997, habits: 997, work: 997, skills: 997, learnings: 997, other: 997 },
  }))
    onEach(`category ${category} is taken, and scored with ${rank}`, async (t, { create, send }) => {
      const { id, scoring, category: answered } = await create({ category });
      t.is(answered, category);
      t.regex(String(scoring), new RegExp(`^01_${rank}_\\d{10}$`));
      const other = await create({ category: category === 'other' ? 'system' : 'other' });
      const changed = await send('PATCH', `${LIST}/${other.id}`, { category });
      t.like(changed, { status: 200, body: { category, scoring } });
      t.deepEqual((await send('GET', `${LIST}?categories=${category}`)).body.length, 2);
      t.truthy(id);
    });

  // ── limits and wrong values ───────────────────────────────────────────────────────────────────────────────────

  const GOOD = { content: 'x' };
  for (const [title, body, issues] of [
    ['no content', {}, { 'body.content': 'missing' }],
    ['content null', { content: null }, { 'body.content': 'string_type' }],
    ['content that is blank', { content: ' \n' }, { 'body.content': 'string_too_short' }],
    ['content of 501 characters', { content: '🙂'.repeat(501) }, { 'body.content': 'string_too_long' }],
    ['content that is a number', { content: 5 }, { 'body.content': 'string_type' }],
    ['content with a NUL', { content: 'a\0b' }, { 'body.content': 'value_error' }],
    ['an unknown category', { ...GOOD, category: 'news' }, { 'body.category': 'enum' }],
    ['an unknown visibility', { ...GOOD, visibility: 'secret' }, { 'body.visibility': 'enum' }],
    ['tags that are no list', { ...GOOD, tags: 'a,b' }, { 'body.tags': 'list_type' }],
    ['a tag that is no text', { ...GOOD, tags: ['a', 1] }, { 'body.tags.1': 'string_type' }],
    ['a blank tag', { ...GOOD, tags: [' '] }, { 'body.tags.0': 'string_too_short' }],
    ['a tag of 101 characters', { ...GOOD, tags: ['x'.repeat(101)] }, { 'body.tags.0': 'string_too_long' }],
    ['51 tags', { ...GOOD, tags: Array(51).fill('x') }, { 'body.tags': 'too_long' }],
    ['a list for an object', [GOOD], { body: 'dict_type' }],
  ] as [string, unknown, Record<string, string>][]) {
    onEach(`POST with ${title} is a 422 that says where`, async (t, rest) => {
      t.deepEqual(await rest.issues('POST', LIST, body), issues);
      t.deepEqual(await rest.ids(), []);
    });
    if (Array.isArray(body)) continue;
    on(
      `a batch in which the fourth has ${title} is a 422 that says where, and stores none`,
      async (t, rest) => {
        const found = await rest.issues('POST', BATCH, { memories: [GOOD, GOOD, GOOD, body] });
        const at = (place: string) => place.replace('body', 'body.memories.3');
        t.deepEqual(found, Object.fromEntries(Object.entries(issues).map(([key, type]) => [at(key), type])));
        t.deepEqual(await rest.ids(), []);
      },
    );
  }

  on('content of 500 characters and 50 tags of 100 characters are accepted', async (t, { create }) => {
    const tags = Array.from({ length: 50 }, (_, n) => String(n).padEnd(100, '🙂'.repeat(50)).slice(0, 100));
    const { content } = await create({
      content: '🙂'.repeat(500),
      tags: tags.map(tag => tag.toWellFormed()),
    });
    t.is(content, '🙂'.repeat(500));
  });

  on(
    'a batch of 25 is stored in order; an empty one is a 200; 26 is a 422',
    async (t, { send, ids, issues }) => {
      const memories = Array.from({ length: 25 }, (_, n) => ({ content: `fact ${n}`, category: 'core' }));
      const { status, body } = await send('POST', BATCH, { memories });
      t.is(status, 200);
      t.is(body.created_count, 25);
      t.deepEqual(
        body.memories.map(({ content }: Json) => content),
        memories.map(({ content }) => content),
      );
      t.is((await ids()).length, 25);
      t.like(await send('POST', BATCH, { memories: [] }), {
        status: 200,
        body: { memories: [], created_count: 0 },
      });
      t.deepEqual(await issues('POST', BATCH, { memories: [...memories, GOOD] }), {
        'body.memories': 'too_long',
      });
      t.deepEqual(await issues('POST', BATCH, {}), { 'body.memories': 'missing' });
      t.is((await ids()).length, 25);
    },
  );

  // ── the list ──────────────────────────────────────────────────────────────────────────────────────────────────

  on('the list: manual memories first, then by category, then newest first', async (t, rest) => {
    const { createAll, ids, change } = rest;
    const [old, system, found, interesting, fresh] = await createAll([
      {},
      { category: 'system' },
      { category: 'system' },
      { category: 'interesting' },
      {},
    ]);
    await change(String(found), { scoring: '00_999_1793620800' });
    const order = [system, interesting, fresh, old, found];
    t.deepEqual(await ids(), order);
    t.deepEqual(await ids('limit=2&offset=1'), order.slice(1, 3));
    t.deepEqual(await ids('offset=5'), []);
  });

  on('the list has 25 entries by default, and 1 to 1000 on request', async (t, { send, ids, issues }) => {
    const batch = (n: number) => ({ memories: Array.from({ length: 25 }, () => ({ content: `fact ${n}` })) });
    for (let n = 0; n < 2; n += 1) t.is((await send('POST', BATCH, batch(n))).status, 200);
    t.is((await ids()).length, 25);
    t.is((await ids('limit=')).length, 25);
    t.is((await ids('limit=0')).length, 1);
    t.is((await ids('limit=9999&offset=-3')).length, 50);
    t.deepEqual(await issues('GET', `${LIST}?limit=x&offset=1.5`, undefined), {
      'query.limit': 'int_parsing',
      'query.offset': 'int_parsing',
    });
  });

  on('categories are combined with "or"; spaces are ignored; an unknown one is a 422', async (t, rest) => {
    const { createAll, ids, issues } = rest;
    const [work, system, other] = await createAll([{ category: 'work' }, { category: 'system' }, {}]);
    t.deepEqual(await ids('categories=work'), [work]);
    t.deepEqual(await ids('categories=work,%20system,,work'), [system, work]);
    t.deepEqual(await ids('categories=other,skills'), [other]);
    t.deepEqual(await ids('categories=skills'), []);
    t.deepEqual(await ids('categories=,'), [system, other, work]);
    for (const wrong of ['work,news', 'auto', 'Work'])
      t.deepEqual(await issues('GET', `${LIST}?categories=${wrong}`, undefined), {
        'query.categories': 'enum',
      });
  });

  // ── PATCH ─────────────────────────────────────────────────────────────────────────────────────────────────────

  on('PATCH changes only the named fields, marks the memory as edited, and returns it', async (t, rest) => {
    const { create, send, clock } = rest;
    const before = await create({ tags: ['a'] });
    const path = `${LIST}/${before.id}`;
    clock.advance(5000);
    const changed = await send('PATCH', path, { content: ' Likes coffee ', visibility: 'public', more: 1 });
    const updated_at = new Date(clock.now()).toISOString();
    const expected = { ...before, content: 'Likes coffee', visibility: 'public', edited: true, updated_at };
    t.deepEqual(changed.body, expected);
    t.deepEqual((await send('GET', path)).body, expected);
    t.like(await send('PATCH', path, { tags: [] }), { status: 200 });
    t.deepEqual((await send('GET', path)).body.tags, []);
    t.like(await send('PATCH', path, { category: 'work' }), { body: { category: 'work' } });
    for (const content of [{ content: 'Likes milk' }, {}])
      t.like(await send('PATCH', path, { category: 'auto', ...content }), {
        body: { category: 'system', content: 'Likes milk' },
      });
  });

  for (const [title, body, issues] of [
    ['nothing', {}, { body: 'missing' }],
    ['nothing that is known', { scoring: '99', id: UNKNOWN }, { body: 'missing' }],
    [
      'nulls',
      { content: null, visibility: null, tags: null, category: null },
      {
        'body.content': 'string_type',
        'body.visibility': 'enum',
        'body.tags': 'list_type',
        'body.category': 'enum',
      },
    ],
    ['blank content', { content: ' ' }, { 'body.content': 'string_too_short' }],
    ['content of 501 characters', { content: 'x'.repeat(501) }, { 'body.content': 'string_too_long' }],
    ['an unknown category', { category: 'news' }, { 'body.category': 'enum' }],
  ] as [string, unknown, Record<string, string>][])
    onEach(`PATCH with ${title} is a 422 that says where, and changes nothing`, async (t, rest) => {
      const before = await rest.create();
      t.deepEqual(await rest.issues('PATCH', `${LIST}/${before.id}`, body), issues);
      t.deepEqual((await rest.send('GET', `${LIST}/${before.id}`)).body, before);
    });

  on('100 concurrent PATCHes of one memory: every field that any of them names is kept', async (t, rest) => {
    const { create, send } = rest;
    const { id, updated_at: first } = await create();
    const patches: Json[] = Array.from({ length: 100 }, (_, n) =>
      n % 4 === 0
        ? { content: `content ${n}` }
        : n % 4 === 1
          ? { tags: [`tag ${n}`] }
          : n % 4 === 2
            ? { visibility: 'public' }
            : { category: 'skills' },
    );
    const answers = await Promise.all(patches.map(body => send('PATCH', `${LIST}/${id}`, body)));
    t.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    for (const [n, { body }] of answers.entries()) t.like(body, patches[n] as Json);
    const { body } = await send('GET', `${LIST}/${id}`);
    t.like(body, { visibility: 'public', category: 'skills', edited: true });
    t.regex(body.content, /^content \d+$/);
    t.regex(body.tags[0], /^tag \d+$/);
    const times = answers.map(answer => answer.body.updated_at);
    t.is(new Set(times).size, 100, 'no two changes have the same time');
    t.true(times.every(at => at > String(first)));
    t.is(body.updated_at, times.toSorted().at(-1));
  });

  // ── missing or locked ─────────────────────────────────────────────────────────────────────────────────────────────

  on('DELETE is permanent, and succeeds once', async (t, { create, send, ids, storage, user }) => {
    const { id } = await create();
    t.deepEqual((await send('DELETE', `${LIST}/${id}`)).body, { success: true });
    t.like(await send('DELETE', `${LIST}/${id}`), { status: 404, body: { detail: 'Memory not found' } });
    t.is((await send('GET', `${LIST}/${id}`)).status, 404);
    t.deepEqual(await ids(), []);
    t.is(await storage.memories.get(user.id, id), null);
    t.deepEqual(await storage.memories.match(user.id, 'tea', 10), []);
  });

  on(
    'unknown, invalid ids and those of other users get the same 404, and nothing is changed',
    async (t, rest) => {
      const { create, send, users, memories, user } = rest;
      const { id } = await create();
      const before = await memories.get(user.id, id);
      await users.add('ben');
      const ben = await users.token('ben');
      const targets: [string, string | undefined][] = [
        [id, ben],
        [UNKNOWN, undefined],
        [id.toUpperCase(), undefined],
        ['nonsense', undefined],
      ];
      const bodies = new Set<string>();
      for (const [target, credential] of targets)
        for (const [method, body] of [
          ['GET'],
          ['PATCH', { content: 'x' }],
          ['PATCH', { category: 'auto' }],
          ['DELETE'],
        ] as const) {
          const answer = await send(method, `${LIST}/${target}`, body, credential);
          t.is(answer.status, 404, `${method} ${target}`);
          bodies.add(JSON.stringify(answer.body));
        }
      t.deepEqual([...bodies], ['{"detail":"Memory not found"}']);
      t.deepEqual(await memories.get(user.id, id), before);
      t.deepEqual((await send('GET', LIST, undefined, ben)).body, []);
    },
  );

  on('a locked memory is not listed and not found, and a write is a 423', async (t, rest) => {
    const { create, send, ids, storage, user } = rest;
    const { id } = await create();
    const lock = (locked: boolean) => createLocks({ storage }).set({ kind: 'memory', id, locked });
    t.is(await lock(true), user.name);
    t.deepEqual(await ids(), []);
    t.deepEqual(await ids('categories=other'), []);
    t.is((await send('GET', `${LIST}/${id}`)).status, 404);
    const refused = { status: 423, body: { detail: 'Memory is locked' } };
    t.like(await send('PATCH', `${LIST}/${id}`, { content: 'x' }), refused);
    t.like(await send('DELETE', `${LIST}/${id}`), refused);
    await lock(false);
    t.like(await send('GET', `${LIST}/${id}`), {
      status: 200,
      body: { content: 'Likes tea', edited: false },
    });
  });

  // ── access ────────────────────────────────────────────────────────────────────────────────────────────────────────

  on('reading requires memories:read, writing memories:write; an ID token needs neither', async (t, rest) => {
    const { create, send, keys, user } = rest;
    const { id } = await create();
    const keyOf = async (scope: 'memories:read' | 'memories:write' | 'conversations:read') =>
      (await keys.create(user.id, { name: scope, scopes: [scope] })).key;
    const [reader, writer, stranger] = [
      await keyOf('memories:read'),
      await keyOf('memories:write'),
      await keyOf('conversations:read'),
    ];
    const requests: ['read' | 'write', string, string, unknown][] = [
      ['read', 'GET', LIST, undefined],
      ['read', 'GET', `${LIST}/${id}`, undefined],
      ['read', 'GET', `${LIST}/vector/search?query=tea`, undefined],
      ['write', 'POST', LIST, GOOD],
      ['write', 'POST', BATCH, { memories: [GOOD] }],
      ['write', 'PATCH', `${LIST}/${id}`, GOOD],
      ['write', 'DELETE', `${LIST}/${id}`, undefined],
    ];
    for (const [scope, method, path, body] of requests) {
      for (const wrong of [stranger, scope === 'read' ? writer : reader]) {
        const answer = await send(method, path, body, wrong);
        const detail = `Insufficient permissions. Required scope: memories:${scope}`;
        t.like(answer, { status: 403, body: { detail } }, `${method} ${path}`);
      }
      const right = scope === 'read' ? reader : writer;
      t.is((await send(method, path, body, right)).status, 200, `${method} ${path}`);
      t.is((await send(method, path, body, null)).status, 401);
    }
  });

  on(
    'search by a key without the stored grant is a 403 that names it; an ID token needs none',
    async (t, rest) => {
      const { send, keys, user, storage } = rest;
      const { key, record } = await keys.create(user.id, { name: 'r', scopes: ['memories:read'] });
      const search = `${LIST}/vector/search?query=tea`;
      t.is((await send('GET', search, undefined, key)).status, 200);
      await storage.grants.removeOf(user.id, record.id);
      const { status, body } = await send('GET', search, undefined, key);
      t.is(status, 403);
      t.like(body.detail, { grant: 'memories:read', code: 'missing_grant' });
      t.is((await send('GET', LIST, undefined, key)).status, 200);
      t.is((await send('GET', search)).status, 200);
    },
  );

  on(
    'memories closed to programs: reads are the documented 403, and creation still works',
    async (t, rest) => {
      const { create, send, users, keys, user } = rest;
      const { id } = await create();
      const { key } = await keys.create(user.id, { name: 'k', scopes: ['memories:read', 'memories:write'] });
      await users.setMemoryAccess('anna', false);
      const requests = [
        ['GET', LIST],
        ['GET', `${LIST}/${id}`],
        ['GET', `${LIST}/vector/search?query=tea`],
        ['PATCH', `${LIST}/${id}`, { tags: ['tea'] }],
        ['PATCH', `${LIST}/${newId(0)}`, { tags: ['tea'] }],
      ] as const;
      for (const [method, path, sent] of requests)
        for (const credential of [key, undefined]) {
          const { status, body } = await send(method, path, sent, credential);
          t.is(status, 403, `${method} ${path}`);
          t.deepEqual(Object.keys(body.detail).sort(), ['code', 'enabled', 'message', 'reason']);
          t.like(body.detail, { enabled: false, code: 'developer_memory_access_not_ready' });
        }
      t.is((await send('POST', LIST, { content: 'Likes coffee' }, key)).status, 200);
      t.is((await send('GET', '/v1/dev/user/action-items')).status, 200);
      await users.setMemoryAccess('anna', true);
      t.like(await send('GET', `${LIST}/${id}`, undefined, key), { status: 200, body: { edited: false } });
    },
  );

  // ── review and history ────────────────────────────────────────────────────────────────────────────────────────

  /** A memory from a conversation that superseded an earlier one. */
  async function heard({ create, change, clock }: Rest) {
    const { id } = await create({ content: 'Lives in Leipzig' });
    const at = clock.now();
    const source = { conversationId: UNKNOWN, segmentIds: ['s1'], saidAt: at - 2000, wording: 'x' };
    const version = { id: newId(at), content: 'Lives in Hamburg', asOf: at - 2000, supersededAt: at - 1000 };
    const history = [{ ...version, sources: [source] }];
    await change(id, { reviewed: false, userReview: null, asOf: at - 1000, history });
    return { id, at, version: version.id };
  }

  on('a memory pending review is listed, then accepted, or rejected and deleted', async (t, rest) => {
    const { send, ids, create } = rest;
    const [{ id }, other] = [await heard(rest), await heard(rest)];
    await create();
    t.deepEqual((await ids('reviewed=false')).sort(), [id, other.id].sort());
    t.is((await ids('reviewed=true')).length, 1);
    t.is((await ids()).length, 3);
    t.deepEqual(await rest.issues('GET', `${LIST}?reviewed=perhaps`, undefined), {
      'query.reviewed': 'bool_parsing',
    });
    const review = (memory: string, accept: unknown) =>
      send('POST', `/v1/memories/${memory}/review`, { accept });
    t.like(await review(id, true), { status: 200, body: { success: true } });
    t.like(await send('GET', `${LIST}/${id}`), {
      body: { reviewed: true, user_review: true, edited: false },
    });
    t.like(await review(other.id, false), { status: 200, body: { success: true } });
    t.is((await send('GET', `${LIST}/${other.id}`)).status, 404);
    t.deepEqual(await ids('reviewed=false'), []);
    t.like(await review(other.id, true), { status: 404, body: { detail: 'Memory not found' } });
    t.is((await review(id, 'yes')).status, 422);
  });

  on('the history shows each version with its time and source, and each can be restored', async (t, rest) => {
    const { send, change } = rest;
    const { id, at, version } = await heard(rest);
    const path = `/v1/memories/${id}/history`;
    const iso = (ms: number) => new Date(ms).toISOString();
    t.deepEqual((await send('GET', path)).body, [
      { id: null, content: 'Lives in Leipzig', as_of: iso(at - 1000), superseded_at: null, sources: [] },
      {
        ...{ id: version, content: 'Lives in Hamburg', as_of: iso(at - 2000), superseded_at: iso(at - 1000) },
        sources: [{ conversation_id: UNKNOWN, segment_ids: ['s1'], said_at: iso(at - 2000) }],
      },
    ]);
    const undo = `/v1/memories/${id}/undo`;
    const undone = await send('POST', undo, { version });
    t.like(undone, { status: 200, body: { content: 'Lives in Hamburg', edited: true, reviewed: true } });
    const [now, before] = (await send('GET', path)).body;
    t.like(now, { id: null, content: 'Lives in Hamburg', superseded_at: null });
    t.like(before, { content: 'Lives in Leipzig', sources: [] });
    t.like(await send('POST', undo, { version }), {
      status: 404,
      body: { detail: 'Version not found' },
    });
    t.like(await send('POST', undo, {}), { status: 200, body: { content: 'Lives in Leipzig' } });
    await change(id, { locked: true });
    t.is((await send('GET', path)).status, 404);
    t.is((await send('POST', undo, { version: before.id })).status, 423);
  });

  // ── search ────────────────────────────────────────────────────────────────────────────────────────────────────

  for (const [title, query, issues] of [
    ['no query', '', { 'query.query': 'missing' }],
    ['an empty query', 'query=', { 'query.query': 'string_too_short' }],
    ['a blank query', 'query=%20', { 'query.query': 'string_too_short' }],
    ['limit 0', 'query=x&limit=0', { 'query.limit': 'greater_than_equal' }],
    ['limit 101', 'query=x&limit=101', { 'query.limit': 'less_than_equal' }],
    ['a limit that is no number', 'query=x&limit=ten', { 'query.limit': 'int_parsing' }],
  ] as [string, string, Record<string, string>][])
    onEach(`search with ${title} is a 422`, async (t, rest) => {
      t.deepEqual(await rest.issues('GET', `${LIST}/vector/search?${query}`, undefined), issues);
    });

  on('search returns ids, categories, contents and scores of permitted memories', async (t, rest) => {
    const { createAll, send } = rest;
    const contents = ['Likes green tea', 'Plays the violin', 'Likes tea'];
    const [green, , tea] = await createAll(contents.map(content => ({ content })));
    const { status, body } = await send('GET', `${LIST}/vector/search?query=green+tea%3F&limit=2`);
    t.is(status, 200);
    t.deepEqual(body, {
      items: [
        { id: green, category: 'other', content: 'Likes green tea', relevance_score: 1 },
        { id: tea, category: 'other', content: 'Likes tea', relevance_score: 0.2083 },
      ],
      returned_count: 2,
      archive_default_visible: false,
      policy: {
        consumer: 'developer_api',
        app_has_default_memory_grant: true,
        archive_capability: false,
        raw_provenance_capability: false,
      },
    });
    const few = await send('GET', `${LIST}/vector/search?query=tea&limit=1`);
    t.is(few.body.returned_count, 1);
    t.deepEqual((await send('GET', `${LIST}/vector/search?query=submarine`)).body.items, []);
  });
}
