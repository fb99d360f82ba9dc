import assert from 'node:assert/strict';
import type { Geolocation } from '../../../../core/contract/model.ts';
import type { StorageCheck } from '../storage.ts';
import { conversation, idsOf, place, user } from './rows.ts';

const PAGE = { limit: 100, offset: 0 };

function at(latitude: number, longitude: number): { geolocation: Geolocation } {
  return {
    geolocation: { latitude, longitude, address: null, googlePlaceId: null, locationType: null },
  };
}

export const placeChecks: StorageCheck[] = [
  {
    title: 'places are returned as stored, the oldest first, to their owner alone',
    async run({ storage: { users, places } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const home = place('p2', 'anna', { latitude: -33.856784, longitude: 151.215297, createdAt: 8 });
      for (const row of [home, place('p3', 'anna', { createdAt: 7 }), place('p1', 'anna', { createdAt: 8 })])
        await places.insert(row);
      assert.deepEqual(await places.get('anna', 'p2'), home);
      assert.deepEqual(idsOf(await places.list('anna')), ['p3', 'p1', 'p2']);
      await assert.rejects(places.insert(home), { code: 'conflict' });
      assert.equal(await places.get('ben', 'p2'), null);
      assert.deepEqual(await places.list('ben'), []);
      assert.equal(await places.rename('ben', 'p2', 'Mine'), false);
      assert.equal(await places.remove('ben', 'p2'), false);
      assert.equal(await places.rename('anna', 'p2', 'Opera'), true);
      assert.deepEqual(await places.get('anna', 'p2'), { ...home, name: 'Opera' });
      assert.equal(await places.remove('anna', 'p2'), true);
      assert.equal(await places.remove('anna', 'p2'), false);
      assert.equal(await places.rename('anna', 'p2', 'Gone'), false);
    },
  },
  {
    title:
      'conversations are found by their distance from a point, also across the 180th meridian and at a pole',
    async run({ storage: { users, conversations } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const rows = [
        conversation('near', 'anna', { createdAt: 9, ...at(52.52, 13.405) }),
        conversation('90 m north', 'anna', { createdAt: 8, ...at(52.52081, 13.405) }),
        conversation('95 m east', 'anna', { createdAt: 7, ...at(52.52, 13.4064) }),
        conversation('127 m north-east', 'anna', { createdAt: 6, ...at(52.52081, 13.40633) }),
        conversation('nowhere', 'anna', { createdAt: 5 }),
        conversation('west of the line', 'anna', { createdAt: 4, ...at(-17, 179.9999) }),
        conversation('east of the line', 'anna', { createdAt: 3, ...at(-17, -179.9999) }),
        conversation('pole', 'anna', { createdAt: 2, ...at(90, 77) }),
        conversation('near', 'ben', at(52.52, 13.405)),
      ];
      for (const row of rows) await conversations.insert(row);
      const found = async (latitude: number, longitude: number, radiusM: number) =>
        idsOf(await conversations.list('anna', { ...PAGE, near: { latitude, longitude, radiusM } }));
      assert.deepEqual(await found(52.52, 13.405, 1), ['near']);
      assert.deepEqual(await found(52.52, 13.405, 100), ['near', '90 m north', '95 m east']);
      assert.deepEqual(await found(52.52, 13.405, 140), [
        ...['near', '90 m north', '95 m east', '127 m north-east'],
      ]);
      for (const longitude of [180, -180, 179.9999, -179.9999])
        assert.deepEqual(await found(-17, longitude, 50), ['west of the line', 'east of the line']);
      assert.deepEqual(await found(90, -103, 50), ['pole']);
      assert.deepEqual(await found(0, 0, 50_000), []);
    },
  },
  {
    title: 'a position is found where it was moved to, and no more once it is removed',
    async run({ storage: { users, conversations } }) {
      await users.insert(user('anna'));
      await conversations.insert(conversation('c1', 'anna', { createdAt: 5, ...at(52.52, 13.405) }));
      const found = async (latitude: number, longitude: number) =>
        idsOf(await conversations.list('anna', { ...PAGE, near: { latitude, longitude, radiusM: 100 } }));
      await conversations.update('anna', 'c1', { starred: true });
      assert.deepEqual(await found(52.52, 13.405), ['c1']);
      await conversations.update('anna', 'c1', at(48.137, 11.575));
      assert.deepEqual(await found(52.52, 13.405), []);
      assert.deepEqual(await found(48.137, 11.575), ['c1']);
      await conversations.update('anna', 'c1', { geolocation: null });
      assert.deepEqual(await found(48.137, 11.575), []);
    },
  },
  {
    title: 'positions are those of the conversations that are listed, in their order',
    async run({ storage: { users, conversations } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const there = { ...at(52.52, 13.405).geolocation, address: 'Under the “Limes” 1', locationType: 'x' };
      const rows = [
        conversation('a', 'anna', { createdAt: 4, startedAt: 3, geolocation: there }),
        conversation('b', 'anna', { createdAt: 6, ...at(1, 2) }),
        conversation('c', 'anna', { createdAt: 5 }),
        conversation('d', 'anna', { createdAt: 7, discarded: true, ...at(3, 4) }),
        conversation('e', 'ben', { createdAt: 8, ...at(5, 6) }),
      ];
      for (const row of rows) await conversations.insert(row);
      const shown = await conversations.positions('anna', { discarded: false, ...PAGE });
      assert.deepEqual(shown, [
        { ...at(1, 2).geolocation, at: 6 },
        { ...there, at: 3 },
      ]);
      const newest = await conversations.positions('anna', { limit: 1, offset: 0 });
      assert.deepEqual(newest, [{ ...at(3, 4).geolocation, at: 7 }]);
    },
  },
];
