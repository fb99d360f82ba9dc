import { join } from 'node:path';
import test from 'ava';
import { accountOf } from '../../helpers/accounts.ts';
import { eventually } from '../../helpers/eventually.ts';
import { openServer } from '../../helpers/services.ts';

test('the owner of a lost address is told what was disabled, and how to enable it', async t => {
  const use = join(import.meta.dirname, '../../fixtures/plugins/acme-channel.ts');
  const server = await openServer(t, {
    stt: [],
    notify: ['acme-channel'],
    plugins: { 'acme-channel': { use } },
  });
  const owner = await accountOf(server, 'owner');
  await owner.post('/v1/notifications/addresses', { channel: 'acme-channel', address: { number: 'gone' } });
  await owner.post('/v1/dev/user/action-items', { description: 'Buy milk', due_at: '2030-01-01T00:00:00Z' });
  const told = await eventually(async () => {
    const all = await owner.get('/v1/notifications');
    return all.find(({ event }) => event === 'hook_off');
  });
  t.like(told ?? {}, {
    rule: 'An address for notifications was switched off by the server',
    title: 'Your address for notifications “acme-channel” was switched off',
  });
  t.regex(String(told?.text), /^.+\. When it works again, switch it on\.$/);
});
