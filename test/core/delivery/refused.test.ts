import { createHook } from 'node:async_hooks';
import { createECDH } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import test from 'ava';
import { z } from 'zod';
import { resolveByDns } from '../../../core/delivery/names.ts';
import { createOutbound } from '../../../core/delivery/outbound.ts';
import type { Plugin } from '../../../core/plugin.ts';
import apprise from '../../../plugins/notify/apprise.ts';
import gotify from '../../../plugins/notify/gotify.ts';
import ntfy from '../../../plugins/notify/ntfy.ts';
import webPush from '../../../plugins/notify/web-push.ts';
import webhook from '../../../plugins/notify/webhook.ts';
import { startDnsServer } from '../../helpers/dns-server.ts';
import { MESSAGE, memoryState, never } from '../../plugins/notify/context.ts';
import { contextOf } from '../../plugins/stt/context.ts';

/** Every attempt of this process to connect anywhere is counted: no test of this file may make one. */
let connects = 0;
createHook({ init: (_id, type) => void (type === 'TCPCONNECTWRAP' && connects++) }).enable();

/** What listens there would be reached by half of the rows. */
const servers = await Promise.all(['127.0.0.1', '::1'].map(listen));
const [PORT, PORT6] = servers.map(server => (server.address() as AddressInfo).port);

async function listen(host: string) {
  const server = createServer(socket => {
    connects++;
    socket.destroy();
  });
  await once(server.listen(0, host), 'listening');
  return server;
}

const NAMES: Record<string, string[]> = {
  'loopback.example': ['127.0.0.1'],
  'loopback6.example': ['::1'],
  'private.example': ['192.168.1.10'],
  'both.example': ['93.184.215.14', '10.0.0.7'],
  'both6.example': ['93.184.215.14', 'fd00::7'],
  'metadata.google.internal': ['169.254.169.254'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'nat64.example': ['64:ff9b::7f00:1'],
  'sixtofour.example': ['2002:7f00:1::'],
  'zero.example': ['0.0.0.0'],
  'cgnat.example': ['100.64.1.1'],
  'public.example': ['93.184.215.14'],
};
const dns = await startDnsServer(name => NAMES[name] ?? []);
const outbound = createOutbound({
  allowHosts: [],
  clock: { now: () => 0 },
  resolve: resolveByDns([dns.address]),
});

test.after.always(async () => {
  await outbound.close();
  await dns.close();
  for (const server of servers) server.close();
});

/** What it is, and the address as a user may give it. */
const ROWS: [what: string, url: string][] = [
  ['loopback', `http://127.0.0.1:${PORT}/`],
  ['loopback by https', `https://127.0.0.1:${PORT}/`],
  ['the last loopback address', `https://127.255.255.254:${PORT}/`],
  ['loopback as one decimal number', `https://2130706433:${PORT}/`],
  ['loopback as one octal number', `https://017700000001:${PORT}/`],
  ['loopback as one hexadecimal number', `https://0x7f000001:${PORT}/`],
  ['loopback with an octal part', `https://0177.0.0.1:${PORT}/`],
  ['loopback with a hexadecimal part', `https://0x7f.0.0.1:${PORT}/`],
  ['loopback in two parts', `https://127.1:${PORT}/`],
  ['loopback in three parts', `https://127.0.1:${PORT}/`],
  ['loopback with a trailing dot', `https://127.0.0.1.:${PORT}/`],
  ['loopback in full-width digits', `https://１２７.０.０.１:${PORT}/`],
  ['loopback in circled digits', `https://①②⑦.⓪.⓪.①:${PORT}/`],
  ['loopback with ideographic dots', `https://127。0。0。1:${PORT}/`],
  ['loopback, percent-encoded', `https://%31%32%37.0.0.1:${PORT}/`],
  ['loopback behind backslashes', `https:\\\\127.0.0.1:${PORT}\\`],
  ['loopback with tabs and line ends in it', `ht\ntps://127.\t0.0.1:${PORT}/`],
  ['loopback of IPv6', `https://[::1]:${PORT6}/`],
  ['loopback of IPv6, written out', `https://[0:0:0:0:0:0:0:1]:${PORT6}/`],
  ['localhost', `https://localhost:${PORT}/`],
  ['localhost with a trailing dot', `https://localhost.:${PORT}/`],
  ['localhost with two trailing dots', `https://localhost..:${PORT}/`],
  ['localhost in capitals', `https://LOCALHOST:${PORT}/`],
  ['localhost in full-width letters', `https://ｌｏｃａｌｈｏｓｔ:${PORT}/`],
  ['a name below localhost', `https://a.localhost:${PORT}/`],
  ['a name below localhost. with a dot', `https://a.localhost.:${PORT}/`],
  ['the unspecified address', `https://0.0.0.0:${PORT}/`],
  ['the unspecified address as 0', `https://0:${PORT}/`],
  ['the unspecified address of IPv6', `https://[::]:${PORT6}/`],
  ['an address of this network', 'https://0.1.2.3/'],
  ['IPv4-mapped loopback', `https://[::ffff:127.0.0.1]:${PORT}/`],
  ['IPv4-mapped loopback in hexadecimal', `https://[::ffff:7f00:1]:${PORT}/`],
  ['IPv4-mapped private', 'https://[::ffff:10.0.0.1]/'],
  ['IPv4-mapped unspecified', `https://[::ffff:0:0]:${PORT}/`],
  ['IPv4-compatible loopback', `https://[::127.0.0.1]:${PORT}/`],
  ['IPv4-translated loopback', `https://[::ffff:0:127.0.0.1]:${PORT}/`],
  ['loopback behind NAT64', `https://[64:ff9b::127.0.0.1]:${PORT}/`],
  ['private behind NAT64', 'https://[64:ff9b::a00:1]/'],
  ['unspecified behind NAT64', 'https://[64:ff9b::]/'],
  ['local NAT64', 'https://[64:ff9b:1::a9fe:a9fe]/'],
  ['6to4 of loopback', 'https://[2002:7f00:1::]/'],
  ['6to4 of a public address', 'https://[2002:5db8:d70e::1]/'],
  ['Teredo', 'https://[2001:0:4136:e378:8000:63bf:80ff:fffe]/'],
  ['ORCHID', 'https://[2001:20::1]/'],
  ['private 10/8', 'https://10.1.2.3/'],
  ['private 172.16/12', 'https://172.31.255.255/'],
  ['private 192.168/16', 'https://192.168.0.1/'],
  ['inside a provider (CGNAT)', 'https://100.64.0.1/'],
  ['metadata of most clouds', 'http://169.254.169.254/latest/meta-data/'],
  ['metadata of most clouds as a number', 'https://2852039166/'],
  ['metadata of most clouds, IPv4-mapped', 'https://[::ffff:a9fe:a9fe]/'],
  ['metadata of Alibaba', 'https://100.100.100.200/'],
  ['metadata of Oracle', 'https://192.0.0.192/'],
  ['metadata of Azure', 'https://168.63.129.16/'],
  ['metadata of Amazon by IPv6', 'https://[fd00:ec2::254]/'],
  ['link-local', 'https://169.254.1.1/'],
  ['link-local of IPv6', 'https://[fe80::1]/'],
  ['link-local of IPv6 with a zone', 'https://[fe80::1%25eth0]/'],
  ['site-local of IPv6', 'https://[fec0::1]/'],
  ['unique local of IPv6', 'https://[fd12:3456:789a::1]/'],
  ['multicast', 'https://239.255.255.250/'],
  ['multicast of IPv6', 'https://[ff02::1]/'],
  ['broadcast', 'https://255.255.255.255/'],
  ['reserved', 'https://250.1.2.3/'],
  ['reserved of IPv6', 'https://[4000::1]/'],
  ['discarded of IPv6', 'https://[100::1]/'],
  ['documentation 192.0.2/24', 'https://192.0.2.1/'],
  ['documentation 198.51.100/24', 'https://198.51.100.1/'],
  ['documentation 203.0.113/24', 'https://203.0.113.1/'],
  ['documentation of IPv6', 'https://[2001:db8::1]/'],
  ['documentation of IPv6, the other', 'https://[3fff::1]/'],
  ['benchmarks', 'https://198.19.0.1/'],
  ['a relay of 6to4', 'https://192.88.99.1/'],
  ['a name at loopback', `https://loopback.example:${PORT}/`],
  ['a name at loopback with a trailing dot', `https://loopback.example.:${PORT}/`],
  ['a name at loopback of IPv6', `https://loopback6.example:${PORT6}/`],
  ['a name at a private address', 'https://private.example/'],
  ['a name at a public and a private address', 'https://both.example/'],
  ['a name at a public and a unique local address', 'https://both6.example/'],
  ['the name of metadata', 'http://metadata.google.internal/computeMetadata/v1/'],
  ['a name at an IPv4-mapped address', `https://mapped.example:${PORT}/`],
  ['a name at loopback behind NAT64', `https://nat64.example:${PORT}/`],
  ['a name at 6to4 of loopback', `https://sixtofour.example:${PORT}/`],
  ['a name at the unspecified address', `https://zero.example:${PORT}/`],
  ['a name inside a provider', 'https://cgnat.example/'],
  ['a public name by http', 'http://public.example/'],
  ['a public address by http', 'http://93.184.215.14/'],
  ['a public name behind a user name', `https://public.example@127.0.0.1:${PORT}/`],
  ['a user name', 'https://ada@public.example/'],
  ['a user name and a password', 'https://ada:secret@public.example/'],
  ['a password alone', 'https://:secret@public.example/'],
  ['loopback after a backslash and an @', `https://127.0.0.1:${PORT}\\@public.example/`],
  ['an empty label', 'https://public..example/'],
  ['a name of dots', 'https://../'],
  ['a file', 'file:///etc/passwd'],
  ['a file on a host', 'file://127.0.0.1/etc/passwd'],
  ['ftp', `ftp://127.0.0.1:${PORT}/`],
  ['gopher', `gopher://127.0.0.1:${PORT}/_GET`],
  ['data', 'data:text/plain,hello'],
  ['javascript', 'javascript:alert(1)'],
  ['a WebSocket', `ws://127.0.0.1:${PORT}/`],
  ['no host', 'https://'],
  ['no scheme', `//127.0.0.1:${PORT}/`],
  ['a port that is none', 'https://public.example:99999/'],
  ['no address at all', 'hello'],
];

for (const [what, url] of ROWS) {
  test(`refuses ${what}: ${JSON.stringify(url).replaceAll(/:\d{4,5}\b/g, ':PORT')}`, async t => {
    const posted = await outbound.post(url, { headers: {}, body: 'x', signal: never });
    t.is(posted.status, null);
    t.is(posted.status === null && posted.error.code, 'forbidden');
    const fetched = await t.throwsAsync(outbound.fetchUser(url, { signal: never }));
    t.like(fetched, { code: 'forbidden' });
    t.notRegex(String(fetched?.message), /secret|10\.0\.0\.7|192\.168\.1\.10|fd00::7/);
    t.is(connects, 0, 'something was connected to');
  });
}

// ── channels ────────────────────────────────────────────────────────────────────────────────────────────────────

/** Every channel whose address names a host, and how it does. */
const CHANNELS: [plugin: Pick<Plugin<never>, 'name' | 'setup'>, addressOf: (url: string) => unknown][] = [
  [ntfy, server => ({ server, topic: 'alerts' })],
  [gotify, server => ({ server, token: 'secret' })],
  [apprise, server => ({ server, key: 'home' })],
  [webhook, url => ({ url, token: 'secret' })],
  [webPush, endpoint => ({ endpoint, keys: { p256dh: browser, auth: 'AAAAAAAAAAAAAAAAAAAAAA' } })],
];
const browser = createECDH('prime256v1').generateKeys('base64url');

for (const [plugin, addressOf] of CHANNELS) {
  test(`channel ${plugin.name} refuses all of them`, async t => {
    const { context, stop } = contextOf();
    t.teardown(stop);
    const options = { contact: 'mailto:ada@example.com' } as never; // of the one that has options
    const { fetchUser } = outbound;
    const own = { ...context, options, fetchUser, state: memoryState(), dataDir: '' };
    const { notify } = await plugin.setup(own);
    if (!notify) return t.fail();
    let sent = 0;
    for (const [what, url] of ROWS) {
      const parsed = notify.address(z).safeParse(addressOf(url));
      if (!parsed.success) continue;
      sent += 1;
      await t.throwsAsync(notify.send(parsed.data, MESSAGE, never), { code: 'forbidden' }, what);
    }
    t.true(sent > 60, `only ${sent} get past the form of an address`);
    t.is(connects, 0, 'something was connected to');
  });
}

test.serial('whoever connects is noticed by this file', async t => {
  const allowing = createOutbound({ allowHosts: ['127.0.0.1'], clock: { now: () => 0 } });
  t.teardown(() => allowing.close());
  const before = connects;
  await allowing.post(`http://127.0.0.1:${PORT}/`, { headers: {}, body: '', signal: never });
  t.is(connects, before + 2);
  connects = before;
});
