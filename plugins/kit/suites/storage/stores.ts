import assert from 'node:assert/strict';
import type { ConversationFilter } from '../../../../core/contract/plugin.ts';
import type { StorageCheck } from '../storage.ts';
import { conversation, idsOf, person, segment, stream, user } from './rows.ts';

/** Checks of each store, for one user. */
export const storeChecks: StorageCheck[] = [
  {
    title: 'people are listed as stored',
    async run({ storage: { users, people } }) {
      await users.insert(user('anna'));
      const friends = [person('p1', 'anna', { createdAt: 1 }), person('p2', 'anna', { createdAt: 2 })];
      for (const friend of friends) await people.insert(friend);
      assert.deepEqual(await people.list('anna'), friends);
    },
  },
  {
    title: 'a conversation is returned with every field as stored',
    async run({ storage: { users, conversations } }) {
      await users.insert(user('anna'));
      const full = conversation('c1', 'anna', {
        status: 'completed',
        startedAt: 1_793_620_800_123,
        finishedAt: 8_640_000_000_000_000,
        structured: {
          title: 'Tea “with” ünïcode 🫖',
          overview: "it's; -- fine",
          category: 'social',
          emoji: '🫖',
          actionItems: [{ description: 'buy tea', completed: false, dueAt: null }],
          events: [{ title: 'tea', description: '', startAt: 5, duration: 30, created: true }],
        },
        language: 'en',
        deviceId: 'pendant',
        folderId: 'f1',
        geolocation: {
          latitude: 52.520008,
          longitude: -13.404954,
          address: null,
          googlePlaceId: 'x',
          locationType: null,
        },
        discarded: true,
        starred: true,
        locked: true,
      });
      const bare = conversation('c2', 'anna');
      await conversations.insert(full);
      await conversations.insert(bare);
      assert.deepEqual(await conversations.get('anna', 'c1'), full);
      assert.deepEqual(await conversations.get('anna', 'c2'), bare);
      await assert.rejects(conversations.insert(bare), { code: 'conflict' });
    },
  },
  {
    title: 'conversations are listed newest first, ties by id, in pages',
    async run({ storage: { users, conversations } }) {
      await users.insert(user('anna'));
      const times = { c: 5, a: 5, d: 9, b: 5, e: 1 };
      for (const [id, createdAt] of Object.entries(times)) {
        await conversations.insert(conversation(id, 'anna', { createdAt }));
      }
      const page = async (limit: number, offset: number) =>
        idsOf(await conversations.list('anna', { limit, offset }));
      assert.deepEqual(await page(10, 0), ['d', 'a', 'b', 'c', 'e']);
      assert.deepEqual(await page(2, 1), ['a', 'b']);
      assert.deepEqual(await page(2, 4), ['e']);
      assert.deepEqual(await page(2, 5), []);
    },
  },
  {
    title: 'conversations are filtered by every field of the filter',
    async run({ storage: { users, people, conversations, segments } }) {
      for (const name of ['anna', 'ben']) {
        await users.insert(user(name));
        await people.insert({ id: 'eve', userId: name, name: 'Eve', createdAt: 1 });
      }
      const { structured } = conversation('x', 'anna');
      const work = { ...structured, category: 'work' };
      const rows = [
        conversation('a', 'anna', { createdAt: 4, status: 'completed', structured: work }),
        conversation('b', 'anna', { createdAt: 3, discarded: true, folderId: 'f1' }),
        conversation('c', 'anna', { createdAt: 2, locked: true, status: 'failed' }),
        conversation('d', 'anna', { createdAt: 1, starred: true, source: 'phone' }),
        conversation('d', 'ben'),
      ];
      for (const row of rows) await conversations.insert(row);
      await segments.upsert([
        segment('s1', conversation('a', 'anna'), { personId: 'eve' }),
        segment('s2', conversation('a', 'anna'), { personId: 'eve' }),
        segment('s3', conversation('d', 'ben'), { personId: 'eve' }),
      ]);
      await conversations.update('anna', 'd', { structured: { ...structured, category: 'health' } });
      const expected: [Partial<ConversationFilter>, string][] = [
        [{ statuses: ['completed', 'failed'] }, 'ac'],
        [{ statuses: [] }, ''],
        [{ discarded: true }, 'b'],
        [{ discarded: false }, 'acd'],
        [{ locked: true }, 'c'],
        [{ locked: false, starred: false }, 'ab'],
        [{ starred: true }, 'd'],
        [{ categories: ['work', 'health'] }, 'ad'],
        [{ categories: ['other'], discarded: false }, 'c'],
        [{ folderId: 'f1' }, 'b'],
        [{ createdFrom: 2, createdTo: 3 }, 'bc'],
        [{ source: 'phone' }, 'd'],
        [{ personId: 'eve' }, 'a'],
        [{ personId: 'eve', source: 'phone' }, ''],
      ];
      for (const [filter, ids] of expected) {
        const found = await conversations.list('anna', { limit: 10, offset: 0, ...filter });
        assert.equal(idsOf(found).join(''), ids, JSON.stringify(filter));
      }
    },
  },
  {
    title: 'the open conversation is the newest one in progress of a source and device',
    async run({ storage: { users, conversations } }) {
      await users.insert(user('anna'));
      const rows = [
        conversation('old', 'anna', { createdAt: 1 }),
        conversation('new', 'anna', { createdAt: 2 }),
        conversation('over', 'anna', { createdAt: 3, status: 'completed' }),
        conversation('device', 'anna', { createdAt: 4, deviceId: 'pendant' }),
        conversation('phone', 'anna', { createdAt: 5, source: 'phone' }),
      ];
      for (const row of rows) await conversations.insert(row);
      assert.equal((await conversations.findOpen('anna', 'omi', null))?.id, 'new');
      assert.equal((await conversations.findOpen('anna', 'omi', 'pendant'))?.id, 'device');
      assert.equal((await conversations.findOpen('anna', 'phone', null))?.id, 'phone');
      assert.equal(await conversations.findOpen('anna', 'phone', 'pendant'), null);
    },
  },
  {
    title: 'an update changes the named fields and nothing else',
    async run({ storage: { users, conversations } }) {
      await users.insert(user('anna'));
      const before = conversation('c1', 'anna', { language: 'en', starred: true });
      await conversations.insert(before);
      assert.equal(await conversations.update('anna', 'c1', { language: null, startedAt: 7 }), true);
      assert.deepEqual(await conversations.get('anna', 'c1'), { ...before, language: null, startedAt: 7 });
      assert.equal(await conversations.update('anna', 'c1', {}), true);
      assert.equal(await conversations.update('anna', 'none', { startedAt: 7 }), false);
      assert.equal(await conversations.update('anna', 'none', {}), false);
    },
  },
  {
    title: 'one of several simultaneous changes of a status succeeds',
    async run({ storage, another }) {
      const other = await another();
      await storage.users.insert(user('anna'));
      await storage.conversations.insert(conversation('c1', 'anna'));
      const race = [storage, other, storage, other].map(({ conversations }) =>
        conversations.update('anna', 'c1', { status: 'processing' }, 'in_progress'),
      );
      assert.equal((await Promise.all(race)).filter(won => won).length, 1);
      assert.equal((await other.conversations.get('anna', 'c1'))?.status, 'processing');
    },
  },
  {
    title: 'a removed conversation removes its segments and leaves its streams',
    async run({ storage: { users, conversations, segments, streams } }) {
      await users.insert(user('anna'));
      const [gone, kept] = [conversation('c1', 'anna'), conversation('c2', 'anna')];
      await conversations.insert(gone);
      await conversations.insert(kept);
      await segments.upsert([segment('s1', gone), segment('s2', kept)]);
      await streams.insert(stream('t1', gone));
      assert.equal(await conversations.remove('anna', 'c1'), true);
      assert.equal(await conversations.remove('anna', 'c1'), false);
      assert.equal(await conversations.get('anna', 'c1'), null);
      assert.deepEqual(idsOf(await segments.list('anna', ['c1', 'c2'])), ['s2']);
      assert.deepEqual(await streams.get('anna', 't1'), stream('t1', gone));
    },
  },
  {
    title: 'segments are inserted, or replaced by id',
    async run({ storage: { users, conversations, segments } }) {
      await users.insert(user('anna'));
      const talk = conversation('c1', 'anna');
      await conversations.insert(talk);
      const first = segment('s1', talk, { start: 0.032, end: 1.728, personId: 'p1', isUser: true });
      await segments.upsert([first, segment('s2', talk, { start: 2, end: 3 })]);
      const longer = segment('s2', talk, {
        start: 2,
        end: 4.25,
        text: 'more',
        speaker: 'SPEAKER_01',
        speakerId: 1,
      });
      await segments.upsert([longer]);
      await segments.upsert([]);
      assert.deepEqual(await segments.list('anna', ['c1']), [first, longer]);
      assert.equal(await segments.count('anna', 'c1'), 2);
    },
  },
  {
    title: 'a segment of a missing conversation is refused, with all others of the same call',
    async run({ storage: { users, conversations, segments } }) {
      await users.insert(user('anna'));
      const talk = conversation('c1', 'anna');
      await conversations.insert(talk);
      const many = Array.from({ length: 1200 }, (_, index) => segment(`s${index}`, talk));
      const homeless = segment('homeless', conversation('c2', 'anna'));
      await assert.rejects(segments.upsert([...many, homeless]), { code: 'not_found' });
      assert.equal(await segments.count('anna', 'c1'), 0);
      await segments.upsert(many);
      assert.equal(await segments.count('anna', 'c1'), 1200);
    },
  },
  {
    title: 'segments of several conversations are listed by start, ties by id; the last one ends last',
    async run({ storage: { users, conversations, segments } }) {
      await users.insert(user('anna'));
      const [one, two] = [conversation('c1', 'anna'), conversation('c2', 'anna')];
      for (const row of [one, two]) await conversations.insert(row);
      await segments.upsert([
        segment('s4', one, { start: 1, end: 9 }),
        segment('s3', two, { start: 1, end: 2 }),
        segment('s2', one, { start: 3, end: 4 }),
        segment('s1', one, { start: 10, end: 11 }),
      ]);
      assert.deepEqual(idsOf(await segments.list('anna', ['c1', 'c2'])), ['s3', 's4', 's2', 's1']);
      assert.deepEqual(idsOf(await segments.list('anna', ['c2'])), ['s3']);
      assert.deepEqual(await segments.list('anna', []), []);
      const all = await segments.list('anna', ['c1']);
      const [first = null] = await segments.page('anna', 'c1', null, 1);
      assert.deepEqual([first, ...(await segments.page('anna', 'c1', first, 10))], all);
      const textBytes = all.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
      assert.deepEqual(await segments.size('anna', 'c1'), { segments: all.length, textBytes });
      assert.deepEqual(await segments.size('anna', 'none'), { segments: 0, textBytes: 0 });
      assert.deepEqual(await segments.get('anna', 's1'), all.find(({ id }) => id === 's1') ?? null);
      assert.equal(await segments.get('ben', 's1'), null);
      assert.equal((await segments.last('anna', 'c1'))?.id, 's1');
      assert.equal(await segments.last('anna', 'none'), null);
    },
  },
  {
    title: 'segments are moved to another time, or to another conversation, all or from one on',
    async run({ storage: { users, conversations, segments } }) {
      await users.insert(user('anna'));
      await users.insert(user('ben'));
      const [one, two] = [conversation('c1', 'anna'), conversation('c2', 'anna')];
      const bens = conversation('c1', 'ben');
      for (const row of [one, two, bens]) await conversations.insert(row);
      const many = Array.from({ length: 1001 }, (_, at) =>
        segment(`s${at}`, one, { start: at, end: at + 0.5 }),
      );
      const others = [segment('x', two, { start: 7, end: 8 }), segment('s1', bens)];
      await segments.upsert([...many, ...others]);
      const textBytes = many.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
      assert.deepEqual(await segments.size('anna', 'c1'), { segments: many.length, textBytes });
      const times = async (id: string) =>
        (await segments.list('anna', [id])).map(({ id, start, end }) => [id, start, end]);
      await segments.move('anna', 'c1', { to: 'c1', seconds: 1.0004 });
      assert.deepEqual(
        await times('c1'),
        many.map(({ id, start, end }) => [id, start + 1, end + 1]),
      );
      await segments.move('anna', 'c1', { to: 'c2', seconds: -1001.2, since: { id: 's999', start: 1000 } });
      assert.equal(await segments.count('anna', 'c1'), 999);
      assert.deepEqual(await times('c2'), [
        ['s1000', 0, 0.3],
        ['s999', 0, 0],
        ['x', 7, 8],
      ]);
      await segments.move('anna', 'c2', { to: 'c1', seconds: 0 });
      assert.equal(await segments.count('anna', 'c1'), 1002);
      assert.deepEqual(await segments.get('anna', 'x'), { ...others[0], conversationId: 'c1' });
      assert.deepEqual(await segments.list('ben', ['c1']), [others[1]]);
      await assert.rejects(segments.move('anna', 'c1', { to: 'none', seconds: 0 }), { code: 'not_found' });
    },
  },
  {
    title: "a client's stream and channel are taken once; streams without a name never clash",
    async run({ storage: { users, conversations, streams } }) {
      await users.insert(user('anna'));
      const talk = conversation('c1', 'anna');
      await conversations.insert(talk);
      const left = stream('t1', talk, { clientStream: 'walk', channel: 0, anchorAt: 5, deviceId: 'd' });
      await streams.insert(left);
      await streams.insert(stream('t2', talk, { clientStream: 'walk', channel: 1 }));
      await streams.insert(stream('t3', talk));
      await streams.insert(stream('t4', talk));
      await assert.rejects(streams.insert(stream('t5', talk, { clientStream: 'walk', channel: 1 })), {
        code: 'conflict',
      });
      assert.deepEqual(await streams.byClientStream('anna', 'walk', 0), left);
      assert.equal((await streams.byClientStream('anna', 'walk', 1))?.id, 't2');
      assert.equal(await streams.byClientStream('anna', 'walk', 2), null);
    },
  },
  {
    title: 'a stream moves forward only',
    async run({ storage: { users, conversations, streams } }) {
      await users.insert(user('anna'));
      const talk = conversation('c1', 'anna');
      await conversations.insert(talk);
      await streams.insert(stream('t1', talk));
      const far = { through: 32_000, received: 9, receivedSample: 31_000 };
      assert.equal(await streams.advance('anna', 't1', far), true);
      assert.equal(await streams.advance('anna', 't1', { ...far, through: 31_999 }), false);
      assert.equal(await streams.advance('anna', 't1', { ...far, received: 10 }), true);
      assert.equal(await streams.advance('anna', 'none', far), false);
      await streams.update('anna', 't1', { conversationId: 'c2', anchorAt: 77 });
      const moved = stream('t1', talk, { ...far, received: 10, conversationId: 'c2', anchorAt: 77 });
      assert.deepEqual(await streams.get('anna', 't1'), moved);
    },
  },
  {
    title: 'state of a plugin is any JSON value, counted from version 1',
    async run({ storage: { pluginState } }) {
      for (const [key, value] of [
        ['a', { deep: ['ü', 1.5, null] }],
        ['b', 'text'],
        ['c', null],
        ['d', 0],
      ] as const) {
        assert.equal(await pluginState.compareAndSet('p', key, 0, value), true);
        assert.deepEqual(await pluginState.get('p', key), { value, version: 1 });
      }
      assert.equal(await pluginState.compareAndSet('p', 'a', 1, 'second'), true);
      assert.deepEqual(await pluginState.get('p', 'a'), { value: 'second', version: 2 });
      assert.equal(await pluginState.get('q', 'a'), null);
      await pluginState.delete('p', 'a');
      await pluginState.delete('p', 'a');
      assert.equal(await pluginState.get('p', 'a'), null);
    },
  },
  {
    title: 'state is written only if the version matches',
    async run({ storage, another }) {
      const other = await another();
      const set = ({ pluginState }: typeof storage, version: number) =>
        pluginState.compareAndSet('p', 'k', version, version);
      assert.equal(await set(storage, 1), false);
      assert.deepEqual((await Promise.all([set(storage, 0), set(other, 0), set(storage, 0)])).sort(), [
        false,
        false,
        true,
      ]);
      assert.deepEqual((await Promise.all([set(other, 1), set(storage, 1)])).sort(), [false, true]);
      assert.deepEqual(await storage.pluginState.get('p', 'k'), { value: 1, version: 2 });
    },
  },
  {
    title: 'state is listed by literal prefix; values that are no JSON, or too long, are refused',
    async run({ storage: { pluginState } }) {
      for (const key of ['b%1', 'b_1', 'bx1', 'a', 'B%1']) await pluginState.compareAndSet('p', key, 0, 1);
      await pluginState.compareAndSet('q', 'b%2', 0, 1);
      assert.deepEqual(await pluginState.list('p', 'b%'), ['b%1']);
      assert.deepEqual(await pluginState.list('p', 'b_'), ['b_1']);
      assert.deepEqual(await pluginState.list('p', ''), ['B%1', 'a', 'b%1', 'b_1', 'bx1']);
      await assert.rejects(pluginState.compareAndSet('p', 'x', 0, undefined), { code: 'invalid_request' });
      await assert.rejects(pluginState.compareAndSet('p', 'x', 0, 'x'.repeat(65_535)), { code: 'too_large' });
      assert.equal(await pluginState.compareAndSet('p', 'x', 0, 'x'.repeat(65_534)), true);
    },
  },
];
