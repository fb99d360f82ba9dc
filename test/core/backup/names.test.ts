import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { listBackups, nameOf, superfluous } from '../../../core/backup/names.ts';

const DAY_MS = 24 * 3_600_000;
const at = (time: string) => ({ createdAt: Date.parse(time) });
const days = (list: readonly { createdAt: number }[]) =>
  list.map(({ createdAt }) => new Date(createdAt).toISOString().slice(0, 10));

test('a name states the time, and backups are listed newest first, without other files', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-names-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const [first, second] = [Date.UTC(2026, 0, 31, 23, 59, 58), Date.UTC(2026, 1, 1)];
  t.is(nameOf(first, false), 'earshot-2026-01-31T235958Z.tar.zst');
  const others = ['earshot-2026-01-31T000000-v12.db', 'state.json', 'earshot-2026-99-99T000000Z.tar.zst'];
  for (const name of [nameOf(first, false), nameOf(second, true), ...others])
    await writeFile(join(directory, name), 'bytes');
  t.deepEqual(await listBackups(directory), [
    { file: join(directory, nameOf(second, true)), createdAt: second, bytes: 5, encrypted: true },
    { file: join(directory, nameOf(first, false)), createdAt: first, bytes: 5, encrypted: false },
  ]);
  t.deepEqual(await listBackups(join(directory, 'none')), []);
});

test('of two years of daily backups the newest of 7 days, 4 weeks and 12 months stay', t => {
  const newest = Date.UTC(2026, 10, 22, 3, 30); // a Sunday
  const all = Array.from({ length: 730 }, (_, day) => ({ createdAt: newest - day * DAY_MS }));
  const gone = new Set(superfluous(all, { daily: 7, weekly: 4, monthly: 12 }));
  const kept = days(all.filter(backup => !gone.has(backup)));
  t.deepEqual(kept.slice(0, 7), [
    ...['2026-11-22', '2026-11-21', '2026-11-20', '2026-11-19', '2026-11-18', '2026-11-17', '2026-11-16'],
  ]);
  t.deepEqual(kept.slice(7), [
    ...['2026-11-15', '2026-11-08', '2026-11-01', '2026-10-31', '2026-09-30', '2026-08-31', '2026-07-31'],
    ...['2026-06-30', '2026-05-31', '2026-04-30', '2026-03-31', '2026-02-28', '2026-01-31', '2025-12-31'],
  ]);
});

test('of several in a day the newest stays, and the newest of all always does', t => {
  const all = ['2026-11-22T20:00:00Z', '2026-11-22T08:00:00Z', '2026-11-21T08:00:00Z'].map(at);
  t.deepEqual(superfluous(all, { daily: 2, weekly: 0, monthly: 0 }), [all[1]]);
  t.deepEqual(superfluous(all, { daily: 0, weekly: 0, monthly: 0 }), all.slice(1));
  t.deepEqual(superfluous([], { daily: 7, weekly: 4, monthly: 12 }), []);
});
