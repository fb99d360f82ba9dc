import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { app, appKey, hook, installation } from './outbound-rows.ts';
import { idsOf, user } from './rows.ts';

export const appChecks: StorageCheck[] = [
  {
    title: 'an app is returned as stored, changed by its owner alone, and listed newest first',
    async run({ storage: { users, apps } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const bare = app('a1', 'anna');
      const full = app('a2', 'anna', {
        description: '“full” 📚',
        capabilities: ['external_integration', 'proactive_notification'],
        triggersOn: [],
        webhookUrl: 'https://example.com/?a=b',
        setupCompletedUrl: 'https://example.com/ready',
        actions: ['create_facts', 'read_tasks'],
        notificationScopes: ['user_name', 'user_chat'],
        createdAt: bare.createdAt + 1,
      });
      for (const row of [bare, full, app('a0', 'ben')]) await apps.insert(row);
      await assert.rejects(apps.insert(bare), { code: 'conflict' });
      assert.deepEqual(await apps.get('a2'), full);
      assert.equal(await apps.get('none'), null);
      assert.deepEqual(idsOf(await apps.list()), ['a2', 'a0', 'a1']);
      assert.deepEqual(idsOf(await apps.list('anna')), ['a2', 'a1']);
      const patch = { name: 'new', webhookUrl: null, actions: [], updatedAt: 9 };
      assert.equal(await apps.update('ben', 'a2', patch), false);
      assert.deepEqual(await apps.get('a2'), full);
      assert.equal(await apps.update('anna', 'a2', patch), true);
      assert.deepEqual(await apps.get('a2'), { ...full, ...patch });
    },
  },
  {
    title: 'the secrets of an app are found by their hash, newest first, until they are removed',
    async run({ storage: { users, apps } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const own = app('a1', 'anna');
      for (const row of [own, app('a2', 'anna')]) await apps.insert(row);
      const [old, young] = [appKey('k1', own), appKey('k2', own, { createdAt: own.createdAt + 1 })];
      for (const key of [old, young]) await apps.insertKey(key);
      await assert.rejects(apps.insertKey(appKey('k3', own, { hash: old.hash })), { code: 'conflict' });
      await assert.rejects(apps.insertKey(appKey('k3', app('none', 'anna'))), { code: 'not_found' });
      assert.deepEqual(await apps.keys('anna', 'a1'), [young, old]);
      assert.deepEqual(await apps.keys('anna', 'a2'), []);
      assert.deepEqual(await apps.keys('ben', 'a1'), []);
      assert.deepEqual(await apps.keyByHash(old.hash), old);
      assert.equal(await apps.removeKey('ben', 'a1', 'k1'), false);
      assert.equal(await apps.removeKey('anna', 'a2', 'k1'), false);
      assert.equal(await apps.removeKey('anna', 'a1', 'k1'), true);
      assert.equal(await apps.removeKey('anna', 'a1', 'k1'), false);
      assert.equal(await apps.keyByHash(old.hash), null);
    },
  },
  {
    title: 'an app is installed once for a user, with the latest permissions, and removed with all its data',
    async run({ storage: { users, apps, installations, hooks } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const own = app('a1', 'anna');
      for (const row of [own, app('a2', 'anna')]) await apps.insert(row);
      await apps.insertKey(appKey('k1', own));
      await hooks.put(hook('h1', 'anna', { appId: 'a1' }));
      await installations.put(installation('ben', 'a1'));
      const later = installation('ben', 'a1', { scopes: [], actions: ['read_tasks'], installedAt: 5 });
      await installations.put(later);
      const other = installation('ben', 'a2');
      await installations.put(other);
      await assert.rejects(installations.put(installation('ben', 'none')), { code: 'not_found' });
      assert.deepEqual(await installations.get('ben', 'a1'), later);
      assert.equal(await installations.get('anna', 'a1'), null);
      assert.deepEqual(await installations.list('ben'), [other, later]);
      assert.deepEqual(await installations.list('anna'), []);
      assert.equal(await installations.remove('anna', 'a2'), false);
      assert.equal(await installations.remove('ben', 'a2'), true);
      assert.equal(await installations.remove('ben', 'a2'), false);
      assert.equal(await apps.remove('ben', 'a1'), false);
      assert.equal(await apps.remove('anna', 'a1'), true);
      assert.equal(await apps.remove('anna', 'a1'), false);
      assert.equal(await installations.get('ben', 'a1'), null);
      assert.equal(await hooks.target('h1'), null);
      assert.equal(await apps.keyByHash('hash of k1'), null);
    },
  },
  {
    title: 'a webhook is returned as stored; a user, and an app, has one of each type',
    async run({ storage: { users, apps, hooks } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      await apps.insert(app('a1', 'anna'));
      const own = hook('h1', 'anna', { seconds: 2.5, type: 'audio_bytes', createdAt: 5 });
      const ofApp = hook('h2', 'anna', {
        appId: 'a1',
        type: 'audio_bytes',
        enabled: false,
        offReason: 'gone',
        failingSince: 3,
        oldSecret: 'whsec_b2xk',
        oldSecretUntil: 4,
      });
      for (const row of [ofApp, own, hook('h3', 'ben', { type: 'audio_bytes' })]) await hooks.put(row);
      assert.deepEqual(await hooks.get('anna', 'h1'), own);
      assert.equal(await hooks.get('ben', 'h1'), null);
      assert.deepEqual(await hooks.target('h2'), ofApp);
      assert.deepEqual(await hooks.list('anna'), [own, ofApp]);
      for (const taken of [own, ofApp])
        await assert.rejects(hooks.put({ ...taken, id: 'h4' }), { code: 'conflict' });
      const changed = { ...own, url: 'https://example.com/new', enabled: false };
      await hooks.put(changed);
      await hooks.put({ ...changed, userId: 'ben', type: 'day_summary', url: 'https://evil.example' });
      assert.deepEqual(await hooks.get('anna', 'h1'), changed);
      const patch = { enabled: true, failingSince: 9, secret: 'whsec_bmV3', oldSecret: own.secret };
      assert.equal(await hooks.update('ben', 'h1', patch), false);
      assert.equal(await hooks.update('anna', 'h1', patch), true);
      assert.deepEqual(await hooks.get('anna', 'h1'), { ...changed, ...patch });
      assert.equal(await hooks.remove('ben', 'h1'), false);
      assert.equal(await hooks.remove('anna', 'h1'), true);
      assert.equal(await hooks.remove('anna', 'h1'), false);
    },
  },
  {
    title: 'a user has several webhooks of one type with different labels, and each is notified',
    async run({ storage: { users, hooks } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const first = hook('h1', 'anna', { createdAt: 1 });
      const second = hook('h2', 'anna', { label: 'n8n', createdAt: 2 });
      const third = hook('h3', 'anna', { label: 'N8N', createdAt: 3 });
      for (const row of [first, second, third, hook('h4', 'ben', { label: 'n8n' })]) await hooks.put(row);
      for (const taken of [first, second])
        await assert.rejects(hooks.put({ ...taken, id: 'h5' }), { code: 'conflict' });
      await assert.rejects(hooks.put({ ...third, label: 'n8n' }), { code: 'conflict' });
      assert.deepEqual(await hooks.list('anna'), [first, second, third]);
      assert.deepEqual(await hooks.targets('anna', ['memory_created']), [first, second, third]);
      await hooks.put({ ...second, type: 'day_summary' });
      await hooks.put({ ...third, label: 'n8n' });
      assert.equal(await hooks.remove('anna', 'h1'), true);
      assert.deepEqual(idsOf(await hooks.targets('anna', ['memory_created'])), ['h3']);
    },
  },
  {
    title: 'events of a user go to their own webhooks, and to those of installed apps, while enabled',
    async run({ storage: { users, apps, installations, hooks } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      for (const id of ['a1', 'a2', 'a3']) await apps.insert(app(id, 'ben'));
      await hooks.put(hook('own', 'anna', { createdAt: 9 }));
      await hooks.put(hook('day', 'anna', { type: 'day_summary', createdAt: 8 }));
      await hooks.put(hook('bens', 'ben'));
      await hooks.put(hook('installed', 'ben', { appId: 'a1' }));
      await hooks.put(hook('not installed', 'ben', { appId: 'a2' }));
      await hooks.put(hook('off', 'ben', { appId: 'a3', enabled: false }));
      for (const id of ['a1', 'a3']) await installations.put(installation('anna', id));
      await installations.put(installation('ben', 'a2'));
      const told = async (userId: string, ...types: string[]) => idsOf(await hooks.targets(userId, types));
      assert.deepEqual(await told('anna', 'memory_created'), ['own', 'installed']);
      assert.deepEqual(await told('anna', 'memory_created', 'day_summary'), ['day', 'own', 'installed']);
      assert.deepEqual(await told('anna', 'audio_bytes'), []);
      assert.deepEqual(await told('anna'), []);
      assert.deepEqual(await told('ben', 'memory_created'), ['bens', 'not installed']);
      await installations.remove('anna', 'a1');
      assert.deepEqual(await told('anna', 'memory_created'), ['own']);
    },
  },
];
