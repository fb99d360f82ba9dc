import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Row, Storage } from '../../../../core/contract/plugin.ts';
import type { StorageCheck } from '../storage.ts';
import { conversation, segment, user } from './rows.ts';

export const tableChecks: StorageCheck[] = [
  {
    title: 'a storage describes itself: its data, its version, and whether it is empty',
    async run({ storage, another }) {
      const before = await storage.describe();
      assert.deepEqual([before.due, before.isEmpty], [0, true]);
      assert.equal((await (await another()).describe()).id, before.id, 'the same data has the same id');
      await storage.users.insert(user('anna'));
      assert.equal((await storage.describe()).isEmpty, false);
    },
  },
  {
    title: 'a snapshot is a SQLite file with all rows of one moment, and others write meanwhile',
    async run({ storage }) {
      const directory = await mkdtemp(join(tmpdir(), 'earshot-snapshot-'));
      try {
        for (const id of ['ä', 'b']) await storage.users.insert(user(id));
        const talk = conversation('c1', 'b');
        await storage.conversations.insert(talk);
        await storage.segments.upsert([segment('s1', talk, { start: 0.1, isUser: true })]);
        const file = join(directory, 'copy.db');
        const [rows] = await Promise.all([storage.snapshot(file), storage.attempts.prune(0)]);
        assert.deepEqual([rows.users, rows.conversations, rows.segments, rows.memories], [2, 1, 1, 0]);
        const copy = new DatabaseSync(file, { readOnly: true });
        const users = copy.prepare('select id from users order by id').all();
        const segments = copy.prepare('select id, start, is_user from segments').all();
        copy.close();
        assert.deepEqual(
          users.map(({ id }) => id),
          ['b', 'ä'],
        );
        assert.deepEqual(
          segments.map(row => ({ ...row })),
          [{ id: 's1', start: 0.1, is_user: 1 }],
        );
        assert.deepEqual(await readdir(directory), ['copy.db']);
        await assert.rejects(storage.snapshot(file), 'nothing is replaced');
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
  },
  {
    title: 'the rows of one user alone are returned table by table, parents first',
    async run({ storage }) {
      for (const id of ['ada', 'eve']) {
        await storage.users.insert(user(id));
        const talk = conversation(`talk of ${id}`, id);
        await storage.conversations.insert(talk);
        const segments = Array.from({ length: 600 }, (_, at) => segment(`${id} ${at}`, talk, { start: at }));
        await storage.segments.upsert(segments);
      }
      const owned = await storage.owned();
      const names = owned.map(({ name }) => name);
      assert.ok(names.indexOf('conversations') < names.indexOf('segments'), 'parents come first');
      const found: Record<string, Row[]> = { conversations: [], segments: [] };
      for (const { name, rows } of owned)
        for await (const page of rows('ada')) {
          assert.ok(page.every(row => row.user_id === 'ada'));
          found[name]?.push(...page);
        }
      assert.deepEqual([found.conversations?.length, found.segments?.length], [1, 600]);
      assert.equal(new Set(found.segments?.map(({ id }) => id)).size, 600, 'each row comes once');
    },
  },
  {
    title: 'the rows of one user alone are removed and written back in small transactions',
    async run({ storage }) {
      for (const id of ['ada', 'eve']) {
        await storage.users.insert(user(id));
        const talk = conversation('talk', id);
        await storage.conversations.insert(talk);
        const said = Array.from({ length: 600 }, (_, at) => segment(`${at}`, talk, { start: at }));
        await storage.segments.upsert(said);
      }
      const rowsOfUser = async (id: string) => {
        const found = new Map<string, Row[]>();
        for (const { name, rows } of await storage.owned())
          for await (const page of rows(id)) found.set(name, [...(found.get(name) ?? []), ...page]);
        return found;
      };
      const [adas, eves] = [await rowsOfUser('ada'), await rowsOfUser('eve')];
      for (const table of (await storage.owned()).reverse()) await table.clear('ada');
      assert.deepEqual(await rowsOfUser('ada'), new Map());
      assert.deepEqual(await rowsOfUser('eve'), eves);
      for (const table of await storage.owned()) {
        const rows = adas.get(table.name) ?? [];
        assert.ok(rows.every(row => table.unfit(row) === null && table.storable(row) === row));
        if (rows.length > 0) await table.write(rows);
      }
      assert.deepEqual(await rowsOfUser('ada'), adas);
      const conversations = (await storage.owned()).find(({ name }) => name === 'conversations');
      await assert.rejects(async () => conversations?.write(adas.get('conversations') ?? []));
    },
  },
  {
    title: 'tables are returned completely, in byte order of their keys, parents first',
    async run({ storage }) {
      const ids = ['\u{1f600}', '\uffff', 'ä', 'Z', 'a', '_', '-']; // neither the order of a language nor of UTF-16
      for (const id of ids) await storage.users.insert(user(id));
      const talk = conversation('c1', 'a');
      await storage.conversations.insert(talk);
      await storage.segments.upsert([segment('s1', talk, { start: 0.1 })]);
      const rows = await rowsOf(storage);
      assert.deepEqual(
        rows.get('users')?.map(({ id }) => id),
        ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      );
      assert.deepEqual(
        rows.get('segments')?.map(({ id, start, is_user }) => ({ id, start, is_user })),
        [{ id: 's1', start: 0.1, is_user: false }],
      );
      const names = [...rows.keys()];
      assert.ok(names.indexOf('users') < names.indexOf('conversations'));
      assert.ok(names.indexOf('conversations') < names.indexOf('segments'));
    },
  },
  {
    title: 'rows written to a table are visible to its store, unless the work fails',
    async run({ storage }) {
      const { createdAt: created_at, memoryAccess, signedOutAt, nameKey, disabledAt, ...rest } = user('anna');
      const row = {
        ...rest,
        created_at,
        memory_access: memoryAccess,
        signed_out_at: signedOutAt,
        name_key: nameKey,
        disabled_at: disabledAt,
      };
      const write = (failure: Error | null) =>
        storage.tables(async tables => {
          const users = tables.find(table => table.name === 'users');
          await users?.write([row]);
          assert.equal(await users?.count(), 1);
          if (failure) throw failure;
        });
      const failure = new Error('no');
      await assert.rejects(write(failure), failure);
      assert.deepEqual(await storage.users.list(), []);
      await write(null);
      assert.deepEqual(await storage.users.list(), [user('anna')]);
    },
  },
];

/** Returns all rows by table, tables in the order received. */
async function rowsOf(storage: Storage): Promise<Map<string, Row[]>> {
  return storage.tables(async tables => {
    const all = new Map<string, Row[]>();
    for (const table of tables) {
      const rows: Row[] = [];
      for await (const batch of table.read()) rows.push(...batch);
      all.set(table.name, rows);
    }
    return all;
  });
}
