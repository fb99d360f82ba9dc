import assert from 'node:assert/strict';
import type { ChatMessage, ChatSession } from '../../../../core/contract/model.ts';
import type { StorageCheck } from '../storage.ts';
import { conversation, idsOf, NOON, user } from './rows.ts';

const ALL = { limit: 100, offset: 0 };

function session(id: string, userId: string, changes: Partial<ChatSession> = {}): ChatSession {
  return { id, userId, title: '', createdAt: NOON, updatedAt: NOON, ...changes };
}

function message(
  id: string,
  { userId, id: sessionId }: ChatSession,
  changes: Partial<ChatMessage> = {},
): ChatMessage {
  return {
    id,
    userId,
    sessionId,
    sender: 'human',
    text: `text of ${id}`,
    model: null,
    sources: [],
    createdAt: NOON,
    ...changes,
  };
}

export const chatChecks: StorageCheck[] = [
  {
    title: 'chat sessions are returned last used first, and changed and removed by their owner alone',
    async run({ storage: { users, chat } }) {
      await users.insert(user('anna'));
      await users.insert(user('ben'));
      const [first, second] = [session('a', 'anna'), session('b', 'anna', { updatedAt: NOON + 1 })];
      for (const each of [first, second, session('a', 'ben', { title: 'his' })])
        await chat.insertSession(each);
      await assert.rejects(chat.insertSession(first), { code: 'conflict' });
      assert.deepEqual(await chat.sessions('anna', ALL), [second, first]);
      const patch = { title: 'When “does” it; --\n🚆', updatedAt: NOON + 2 };
      assert.equal(await chat.updateSession('anna', 'a', patch), true);
      assert.deepEqual(await chat.session('anna', 'a'), { ...first, ...patch });
      assert.deepEqual(idsOf(await chat.sessions('anna', { limit: 1, offset: 0 })), ['a']);
      assert.deepEqual(idsOf(await chat.sessions('anna', { limit: 1, offset: 1 })), ['b']);
      assert.equal((await chat.session('ben', 'a'))?.title, 'his');
      assert.equal(await chat.updateSession('ben', 'b', patch), false);
      assert.equal(await chat.removeSession('ben', 'b'), false);
      assert.equal(await chat.removeSession('anna', 'b'), true);
      assert.equal(await chat.removeSession('anna', 'b'), false);
    },
  },
  {
    title: 'chat messages are returned as stored, newest first, and removed with their session',
    async run({ storage: { users, chat } }) {
      await users.insert(user('anna'));
      await users.insert(user('ben'));
      const [own, other, his] = [session('s', 'anna'), session('t', 'anna'), session('s', 'ben')];
      for (const each of [own, other, his]) await chat.insertSession(each);
      const sources = [
        { type: 'conversation', id: 'c1', segmentId: 's1' },
        { type: 'memory', id: 'm1', segmentId: null },
      ];
      const answer = message('m2', own, { sender: 'ai', model: 'llama', sources, text: 'it’s\n"so"; --' });
      const rows = [message('m1', own), answer, message('m3', own), message('m4', other), message('m1', his)];
      for (const each of rows) await chat.insertMessage(each);
      assert.deepEqual(idsOf(await chat.messages('anna', 's', ALL)), ['m3', 'm2', 'm1']);
      assert.deepEqual(await chat.messages('anna', 's', { limit: 1, offset: 1 }), [answer]);
      await chat.forgetMessages('anna', 's', 'm2');
      assert.deepEqual(idsOf(await chat.messages('anna', 's', ALL)), ['m3', 'm2']);
      assert.deepEqual(idsOf(await chat.messages('ben', 's', ALL)), ['m1']);
      await chat.removeSession('anna', 's');
      assert.deepEqual(await chat.messages('anna', 's', ALL), []);
      assert.deepEqual(idsOf(await chat.messages('anna', 't', ALL)), ['m4']);
      await assert.rejects(chat.insertMessage(message('m9', own)), { code: 'not_found' });
      await users.remove('anna');
      assert.deepEqual(await chat.messages('anna', 't', ALL), []);
      assert.deepEqual(idsOf(await chat.messages('ben', 's', ALL)), ['m1']);
    },
  },
  {
    title: 'conversations are listed by their start',
    async run({ storage: { users, conversations } }) {
      await users.insert(user('anna'));
      const began = (id: string, startedAt: number | null) =>
        conversations.insert(conversation(id, 'anna', { startedAt }));
      for (const [id, startedAt] of [
        ['c1', 5],
        ['c2', 6],
        ['c3', 7],
        ['c4', null],
      ] as const)
        await began(id, startedAt);
      const list = async (filter: { startedFrom?: number; startedTo?: number }) =>
        idsOf(await conversations.list('anna', { ...filter, ...ALL })).sort();
      assert.deepEqual(await list({ startedFrom: 6 }), ['c2', 'c3']);
      assert.deepEqual(await list({ startedTo: 6 }), ['c1', 'c2']);
      assert.deepEqual(await list({ startedFrom: 6, startedTo: 6 }), ['c2']);
    },
  },
];
