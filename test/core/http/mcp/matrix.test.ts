/** The authorisation matrix of `/mcp`: every tool with every kind of credential, for every account. */
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { Scope } from '../../../../core/contract/model.ts';
import { SCOPES } from '../../../../core/domain/accounts/keys.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const DATABASES = await openDatabases(test);
const DAY_MS = 24 * 3_600_000;

interface Row {
  /** Null: an ID token. */
  scope: Scope | null;
  writes?: true;
  given(ids: Ids): Record<string, unknown>;
}

interface Ids {
  conversation: string;
  task: string;
}

const TOOLS: Record<string, Row> = {
  search_conversations: { scope: 'conversations:read', given: () => ({ query: 'marzipan' }) },
  list_conversations: { scope: 'conversations:read', given: () => ({}) },
  get_conversation: {
    scope: 'conversations:read',
    given: ({ conversation }) => ({ conversation_id: conversation }),
  },
  search_memories: { scope: 'memories:read', given: () => ({ query: 'marzipan' }) },
  list_memories: { scope: 'memories:read', given: () => ({}) },
  list_tasks: {
    scope: 'action_items:read',
    given: ({ conversation }) => ({ conversation_id: conversation }),
  },
  list_people: { scope: null, given: () => ({}) },
  create_conversation: { scope: 'conversations:write', writes: true, given: () => ({ text: 'Some words.' }) },
  create_memory: { scope: 'memories:write', writes: true, given: () => ({ content: 'Drinks tea' }) },
  create_task: { scope: 'action_items:write', writes: true, given: () => ({ description: 'Buy tea' }) },
  update_task: {
    scope: 'action_items:write',
    writes: true,
    given: ({ task }) => ({ action_item_id: task, completed: true }),
  },
  create_person: { scope: null, writes: true, given: () => ({ name: 'Grace' }) },
};

interface Answered {
  status: number;
  challenge: string | null;
  /** Result of the tool, or the error of the protocol; null: the request was refused. */
  message: {
    result?: { isError?: boolean; content: { text: string }[] };
    error?: { message: string };
  } | null;
}

async function open(t: ExecutionContext, openStorage: (typeof DATABASES)[number]['open']) {
  const rest = await openRest(t, openStorage);
  const { storage, user, users, keys, url } = rest;
  rest.run();
  const other = await users.add('ben');
  const { id: conversation } = await completedConversation(rest, user.id, ['The word is marzipan.'], {
    title: 'Marzipan',
  });
  const task = (await rest.send('POST', '/v1/dev/user/action-items', { description: 'Buy marzipan' })).body
    .id;
  await rest.send('POST', '/v1/dev/user/memories', { content: 'Likes marzipan' });
  const keyOf = async (userId: string, scopes: readonly Scope[]) =>
    keys.create(userId, { name: randomUUID(), scopes: [...scopes] });
  const call = async (
    credential: string | null,
    tool: string,
    given: object,
    query = '',
  ): Promise<Answered> => {
    const answer = await fetch(`${url}/mcp${query}`, {
      method: 'POST',
      headers: {
        ...(credential === null ? {} : { Authorization: credential }),
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
        params: { name: tool, arguments: given },
      }),
    });
    const text = await answer.text();
    const json = /^data: (.*)$/m.exec(text)?.[1] ?? text;
    const message = answer.status === 200 ? JSON.parse(json) : null;
    return { status: answer.status, challenge: answer.headers.get('WWW-Authenticate'), message };
  };
  /** Everything that a tool can change, of both accounts. */
  const state = async () => {
    const rows: unknown[] = [];
    for (const { id } of [user, other])
      for (const { name, rows: read } of await storage.owned())
        if (['conversations', 'memories', 'action_items', 'people'].includes(name))
          for await (const page of read(id)) rows.push(...page);
    return JSON.stringify(rows);
  };
  return { ...rest, other, ids: { conversation, task } satisfies Ids, keyOf, call, state };
}

const isDone = ({ message }: Answered) => message?.result !== undefined && message.result.isError !== true;

for (const { name, open: openStorage } of DATABASES) {
  test(`On ${name}, no tool can be called without a valid credential`, async t => {
    const { call, clock, ids, keyOf, keys, state, token, user, users } = await open(t, openStorage);
    const { key } = await keyOf(user.id, SCOPES);
    const revoked = await keyOf(user.id, SCOPES);
    await keys.remove(user.id, revoked.record.id);
    const rotated = await keyOf(user.id, SCOPES);
    await keys.rotate(user.id, rotated.record.id);
    const disabled = await users.add('eve');
    const [keyOfDisabled, tokenOfDisabled] = [await keyOf(disabled.id, SCOPES), await users.token('eve')];
    await users.setDisabled(disabled, true);
    const refused: Record<string, string | null> = {
      'no credential': null,
      'another scheme': `Basic ${Buffer.from(`anna:${key}`).toString('base64')}`,
      'two credentials': `Bearer ${key} ${key}`,
      'an unknown key': `Bearer omi_dev_${'0'.repeat(32)}`,
      'half a key': `Bearer ${key.slice(0, -1)}`,
      'a revoked key': `Bearer ${revoked.key}`,
      'a rotated key': `Bearer ${rotated.key}`,
      'an unknown app secret': `Bearer sk_${'0'.repeat(32)}`,
      'a changed ID token': `Bearer ${token.slice(0, -6)}AAAAAA`,
      'the key of a disabled account': `Bearer ${keyOfDisabled.key}`,
      'the ID token of a disabled account': `Bearer ${tokenOfDisabled}`,
    };
    const before = await state();
    for (const [what, credential] of Object.entries(refused))
      for (const [tool, { given }] of Object.entries(TOOLS)) {
        const { status, challenge } = await call(credential, tool, given(ids), '?write=true');
        t.deepEqual([status, challenge], [401, 'Bearer'], `${tool}: ${what}`);
      }
    await clock.advance(31 * DAY_MS);
    t.is((await call(`Bearer ${token}`, 'list_people', {})).status, 401, 'an expired ID token');
    t.is(await state(), before);
  });

  test(`On ${name}, each tool needs its scope, and the tools that change data also the address for it`, async t => {
    const { call, ids, keyOf, state, token, user } = await open(t, openStorage);
    const credentials: [string, Scope | 'all' | null][] = [[`Bearer ${token}`, 'all']];
    for (const scope of SCOPES) credentials.push([`Bearer ${(await keyOf(user.id, [scope])).key}`, scope]);
    for (const [tool, row] of Object.entries(TOOLS)) {
      const queries = row.writes ? ['', '?write=false', '?write=true'] : ['', '?write=true'];
      const calls = queries.flatMap(query =>
        credentials.map(([credential, has]) => ({ credential, has, query })),
      );
      const mayCall = ({ has, query }: (typeof calls)[number]) =>
        (has === 'all' || has === row.scope) && (!row.writes || query === '?write=true');
      const before = await state();
      for (const each of calls.filter(call => !mayCall(call))) {
        const { status, message } = await call(each.credential, tool, row.given(ids), each.query);
        t.is(status, 200);
        t.is(message?.result, undefined, `${tool}${each.query} with ${each.has}: ${JSON.stringify(message)}`);
      }
      t.is(await state(), before, `${tool}: a refused call changed something`);
      for (const each of calls.filter(mayCall)) {
        const answer = await call(each.credential, tool, row.given(ids), each.query);
        t.true(isDone(answer), `${tool}${each.query} with ${each.has}: ${JSON.stringify(answer)}`);
      }
      if (!row.writes) t.is(await state(), before, `${tool} changed something`);
    }
  });

  test(`On ${name}, another account is told nothing about data and ids, and changes nothing of it`, async t => {
    const { call, ids, keyOf, other, storage, user, users } = await open(t, openStorage);
    const credentials = [(await keyOf(other.id, SCOPES)).key, await users.token('ben')];
    const unknown: Ids = { conversation: randomUUID(), task: randomUUID() };
    const ownerRows = async () => {
      const rows: unknown[] = [];
      for (const { rows: read } of await storage.owned())
        for await (const page of read(user.id)) rows.push(page);
      return JSON.stringify(rows);
    };
    const before = await ownerRows();
    for (const credential of credentials)
      for (const [tool, { given }] of Object.entries(TOOLS)) {
        const mine = await call(`Bearer ${credential}`, tool, given(ids), '?write=true');
        t.notRegex(JSON.stringify(mine.message?.result ?? null), /marzipan/i, tool);
        if (tool === 'get_conversation' || tool === 'update_task') {
          t.true(mine.message?.result?.isError, tool);
          t.deepEqual(mine, await call(`Bearer ${credential}`, tool, given(unknown), '?write=true'), tool);
        }
      }
    t.is(await ownerRows(), before);
  });
}
