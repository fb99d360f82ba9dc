import assert from 'node:assert/strict';
import type { Device } from '../../../../core/contract/model.ts';
import type { StorageCheck } from '../storage.ts';
import { NOON, user } from './rows.ts';

export const deviceChecks: StorageCheck[] = [
  {
    title: 'a wearable is found, replaced and removed by owner and id',
    async run({ storage: { users, devices } }) {
      await users.insert(user('anna'));
      await users.insert(user('ben'));
      const pendant = device('pendant', 'anna');
      const his = device('pendant', 'ben', { name: null, notes: [], battery: null, connectedAt: null });
      const glasses = device('glasses', 'anna', { createdAt: NOON + 1 });
      for (const each of [glasses, pendant, his]) await devices.put(each);
      assert.deepEqual(await devices.get('anna', 'pendant'), pendant);
      assert.deepEqual(await devices.list('anna'), [pendant, glasses]);
      assert.deepEqual(await devices.list('ben'), [his]);
      const renamed = { ...pendant, name: 'Kitchen', lowBattery: false, lost: 2 ** 40 };
      await devices.put(renamed);
      assert.deepEqual(await devices.get('anna', 'pendant'), renamed);
      assert.deepEqual(await devices.get('ben', 'pendant'), his);
      assert.equal(await devices.remove('ben', 'glasses'), false);
      assert.equal(await devices.remove('anna', 'glasses'), true);
      assert.equal(await devices.get('anna', 'glasses'), null);
      assert.equal(await users.remove('ben'), true);
      assert.equal(await devices.get('ben', 'pendant'), null);
    },
  },
  {
    title: 'wearables without reports are found, the longest silent first',
    async run({ storage: { users, devices } }) {
      await users.insert(user('anna'));
      await users.insert(user('ben'));
      await devices.put(device('late', 'anna', { reportedAt: NOON - 5 }));
      await devices.put(device('later', 'ben', { reportedAt: NOON - 9, state: 'quiet' }));
      await devices.put(device('gone', 'anna', { reportedAt: NOON - 20, state: 'disconnected' }));
      await devices.put(device('here', 'anna', { reportedAt: NOON }));
      const ids = async (limit: number) => (await devices.silent(NOON, limit)).map(({ id }) => id);
      assert.deepEqual(await ids(10), ['later', 'late']);
      assert.deepEqual(await ids(1), ['later']);
    },
  },
];

function device(id: string, userId: string, other: Partial<Device> = {}): Device {
  return {
    id,
    userId,
    name: 'Mine',
    advertisedName: 'Omi "1"',
    source: 'omi',
    driver: 'omi',
    model: 'DevKit',
    firmware: '2.0.1',
    state: 'streaming',
    reason: null,
    codec: 'opus',
    battery: 9,
    lowBattery: true,
    rssi: -71,
    storageFreeBytes: 2 ** 33,
    frames: 10,
    lost: 1,
    notes: ['The clock is set [inf]'],
    bridgeId: 'b',
    bridgeName: 'Kitchen',
    bridgeVersion: '0.1.0',
    connectedAt: NOON,
    lastSeenAt: NOON,
    reportedAt: NOON,
    buttonAt: NOON,
    createdAt: NOON,
    ...other,
  };
}
