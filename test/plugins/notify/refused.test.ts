import { createECDH } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import test from 'ava';
import type { Plugin } from '../../../core/contract/plugin.ts';
import { resolveByDns } from '../../../core/delivery/names.ts';
import { createOutbound } from '../../../core/delivery/outbound.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import apprise from '../../../plugins/notify/apprise/index.ts';
import gotify from '../../../plugins/notify/gotify/index.ts';
import ntfy from '../../../plugins/notify/ntfy/index.ts';
import webPush from '../../../plugins/notify/web-push/index.ts';
import webhook from '../../../plugins/notify/webhook/index.ts';
import { startDnsServer } from '../../helpers/dns-server.ts';
import { NAMES, refusedAddresses } from '../../helpers/refused-addresses.ts';
import { startChannel } from './context.ts';

let connections = 0;

async function listen(host: string) {
  const server = createServer(socket => {
    connections++;
    socket.destroy();
  });
  await once(server.listen(0, host), 'listening');
  return server;
}

const servers = await Promise.all(['127.0.0.1', '::1'].map(listen));
const [PORT = 0, PORT6 = 0] = servers.map(server => (server.address() as AddressInfo).port);
const dns = await startDnsServer(name => NAMES[name] ?? []);

test.after.always(async () => {
  await dns.close();
  for (const server of servers) server.close();
});

const p256dh = createECDH('prime256v1').generateKeys().toString('base64url');
const keys = { p256dh, auth: Buffer.alloc(16).toString('base64url') };

/** Every channel with user-supplied addresses, and a forbidden address. */
const CHANNELS: Record<string, { plugin: Plugin<never>; addressAt(url: string): object }> = {
  ntfy: { plugin: ntfy, addressAt: server => ({ server, topic: 'a' }) },
  gotify: { plugin: gotify, addressAt: server => ({ server, token: 'a' }) },
  apprise: { plugin: apprise, addressAt: server => ({ server, key: 'a' }) },
  webhook: { plugin: webhook, addressAt: url => ({ url }) },
  'web-push': { plugin: webPush as unknown as Plugin<never>, addressAt: endpoint => ({ endpoint, keys }) },
};

function open(allowHosts: readonly string[]) {
  return createOutbound({ allowHosts, clock: { now: () => 0 }, resolve: resolveByDns([dns.address]) });
}

for (const [name, { plugin, addressAt }] of Object.entries(CHANNELS)) {
  test.serial(`${name} contacts no address forbidden to users`, async t => {
    const { send } = await startChannel(t, plugin, {}, { outbound: open([]) });
    let reachedGuard = 0;
    for (const [what, url] of refusedAddresses(PORT, PORT6)) {
      const thrown = await t.throwsAsync(send(addressAt(url)), undefined, what);
      if (thrown instanceof AppError) t.is(thrown.code, 'forbidden', what);
      else t.is(thrown?.name, 'ZodError', what);
      if (thrown instanceof AppError) reachedGuard++;
    }
    t.true(reachedGuard >= 60, `${reachedGuard} of them reached the guard`);
    t.is(connections, 0);
  });

  test.serial(`${name} contacts a host that the operator allows, and only on that port`, async t => {
    const { send } = await startChannel(t, plugin, {}, { outbound: open([`127.0.0.1:${PORT}`]) });
    await t.throwsAsync(send(addressAt(`http://127.0.0.1:${PORT}/`)), { code: 'upstream_error' });
    t.is(connections, 1);
    connections = 0;
    await t.throwsAsync(send(addressAt(`http://[::1]:${PORT6}/`)), { code: 'forbidden' });
    t.is(connections, 0);
  });
}
