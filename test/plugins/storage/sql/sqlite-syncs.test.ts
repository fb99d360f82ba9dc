import test from 'ava';
import { createSyncs, UNSYNCED } from '../../../../plugins/storage/sql/sqlite-syncs.ts';
import { storageContext } from '../../../helpers/storage.ts';

/** A log on a disk whose syncs succeed or fail as told. `ran` records the steps in order. */
function syncs() {
  const ran: string[] = [];
  const disk: PromiseWithResolvers<void>[] = [];
  const { lasting, close } = createSyncs('/there/earshot.db-wal', storageContext(), async file => {
    ran.push(`open ${file}`);
    return {
      datasync() {
        ran.push('sync');
        const sync = Promise.withResolvers<void>();
        disk.push(sync);
        return sync.promise;
      },
      close: async () => void ran.push('close'),
    };
  });
  const commit = (name: string) =>
    lasting(async () => {
      ran.push(`commit ${name}`);
      return name;
    }).then(
      told => ran.push(`tell ${told}`),
      (error: Error & { code?: string }) => ran.push(`refuse ${name}: ${error.code}`),
    );
  const settled = async () => {
    await new Promise(setImmediate);
    return ran.splice(0);
  };
  return { commit, close, settled, disk };
}

test('a commit is reported once a sync that started after it has ended, and commits meanwhile share the next one', async t => {
  const { commit, settled, disk } = syncs();
  void commit('one');
  t.deepEqual(await settled(), ['commit one', 'open /there/earshot.db-wal', 'sync']);
  void commit('two');
  void commit('three');
  t.deepEqual(await settled(), ['commit two', 'commit three']);
  disk[0]?.resolve();
  t.deepEqual(await settled(), ['tell one', 'sync']);
  void commit('four');
  disk[1]?.resolve();
  t.deepEqual(await settled(), ['commit four', 'tell two', 'tell three', 'sync']);
  disk[2]?.resolve();
  t.deepEqual(await settled(), ['tell four']);
});

test('a failed sync rejects all that wait for it and for the next one, and later commits are not attempted', async t => {
  const { commit, close, settled, disk } = syncs();
  void commit('one');
  await settled();
  void commit('two');
  await settled();
  disk[0]?.reject(Object.assign(new Error('i/o error'), { code: 'EIO' }));
  t.deepEqual(await settled(), [`refuse one: ${UNSYNCED}`, `refuse two: ${UNSYNCED}`]);
  void commit('three');
  t.deepEqual(await settled(), [`refuse three: ${UNSYNCED}`]);
  await close();
  t.deepEqual(await settled(), ['close']);
});

test('it is closed after the pending syncs, or was never opened', async t => {
  const { commit, close, settled, disk } = syncs();
  await close();
  t.deepEqual(await settled(), []);
  void commit('one');
  await settled();
  void commit('two');
  await settled();
  const closed = close();
  disk[0]?.resolve();
  t.deepEqual(await settled(), ['tell one', 'sync']);
  disk[1]?.resolve();
  await closed;
  t.deepEqual(await settled(), ['tell two', 'close']);
});

test('failed work waits for nothing', async t => {
  const { lasting } = createSyncs('/nowhere', storageContext());
  const mishap = new RangeError('of its own');
  await t.throwsAsync(
    lasting(async () => {
      throw mishap;
    }),
    { is: mishap },
  );
  await t.throwsAsync(
    lasting(async () => {}),
    { code: UNSYNCED, message: /ENOENT/ },
  );
});
