import test, { type ExecutionContext } from 'ava';
import { createServerNotices } from '../../../core/delivery/server-notices.ts';
import { openDomain } from '../../helpers/domain.ts';

const MB = 1e6;
const DAY_MS = 24 * 3_600_000;

async function room(t: ExecutionContext) {
  const { storage, notifications, clock, users } = await openDomain(t);
  const state = { free: 5000 * MB };
  const create = () =>
    createServerNotices({
      ...{ storage, notifications, clock, dataDir: '/data', noticeBytes: 1000 * MB, minBytes: 250 * MB },
      freeBytes: async () => state.free,
    });
  const told = async (name: string) => {
    const { id } = await users.byName(name);
    const all = await notifications.list(id, { limit: 100 });
    return all.map(({ event }) => event).reverse();
  };
  /** Checks once, with this much free space. */
  const look = async (free: number, notices = create()) => {
    state.free = free * MB;
    await notices.checkDisk();
  };
  return { users, clock, create, told, look };
}

test('operators are told before the disk is full, when it is, and again after it recovered', async t => {
  const { users, clock, told, look } = await room(t);
  const first = (await users.list())[0]?.name ?? (await users.add('ada')).name;
  clock.advance(1000);
  await users.add('ben');
  await look(5000);
  t.deepEqual(await told(first), []);
  for (const free of [999, 1001, 998, 1200, 900]) await look(free); // around the edge, and after restarts
  t.deepEqual(await told(first), ['disk_low']);
  await look(200);
  await look(260);
  await look(200);
  t.deepEqual(await told(first), ['disk_low', 'disk_full']);
  await look(5000);
  await look(900);
  t.deepEqual(await told(first), ['disk_low', 'disk_full', 'disk_low']);
  clock.advance(DAY_MS + 1);
  await look(900);
  t.is((await told(first)).length, 4, 'once more after a day');
  t.deepEqual(await told('ben'), []);
});

test('only operators are told; a failed backup is reported until one succeeds', async t => {
  const { users, create, told } = await room(t);
  await users.add('ada');
  await users.setRole(await users.add('ben'), 'operator');
  const notices = create();
  await notices.backup('No space left');
  await notices.backup('No space left');
  t.deepEqual(await told('ben'), ['backup_failed']);
  await notices.backup(null);
  await notices.backup('again');
  t.deepEqual(await told('ben'), ['backup_failed', 'backup_failed']);
  t.deepEqual(await told('ada'), []);
});
