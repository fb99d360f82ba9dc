import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import test from 'ava';
import fc from 'fast-check';
import { resolveByDns } from '../../../core/delivery/names.ts';
import { createOutbound } from '../../../core/delivery/outbound.ts';
import { startDnsServer } from '../../helpers/dns-server.ts';
import { NAMES, refusedAddresses } from '../../helpers/refused-addresses.ts';

const never = new AbortController().signal;

/** Counts every attempt of this process to connect; no test of this file may cause one. */
let connects = 0;
createHook({ init: (_id, type) => void (type === 'TCPCONNECTWRAP' && connects++) }).enable();

/** Local servers that half of the addresses would reach. */
const servers = await Promise.all(['127.0.0.1', '::1'].map(listen));
const [PORT = 0, PORT6 = 0] = servers.map(server => (server.address() as AddressInfo).port);

async function listen(host: string) {
  const server = createServer(socket => {
    connects++;
    socket.destroy();
  });
  await once(server.listen(0, host), 'listening');
  return server;
}

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

const ROWS = refusedAddresses(PORT, PORT6);

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

/** First and last address of some networks that are not public. */
const INSIDE = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['224.0.0.0', '255.255.255.255'],
].map(([first = '', last = '']) => ({ min: numberOf(first), max: numberOf(last) }));

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

const inRadix = [String, (n: number) => `0x${n.toString(16)}`, (n: number) => `0${n.toString(8)}`];
const spelling = fc.record({
  address: fc.oneof(...INSIDE.map(range => fc.integer(range))),
  parts: fc.integer({ min: 1, max: 4 }),
  radices: fc.array(fc.constantFrom(...inRadix), { minLength: 4, maxLength: 4 }),
  dot: fc.constantFrom('', '.'),
});

test('refuses every internal address, in any notation', t => {
  const refused = { code: 'forbidden' };
  fc.assert(
    fc.property(spelling, ({ address, parts, radices, dot }) => {
      const bytes = [24, 16, 8, 0].map(shift => (address >>> shift) & 255);
      const rest = bytes.slice(parts - 1).reduce((sum, byte) => sum * 256 + byte, 0);
      const numbers = [...bytes.slice(0, parts - 1), rest];
      const host = numbers.map((number, index) => radices[index]?.(number)).join('.');
      t.throws(() => outbound.check(`https://${host}${dot}/`), refused, host);
      const groups = [address >>> 16, address & 65535].map(group => group.toString(16)).join(':');
      for (const prefix of ['::ffff:', '0:0:0:0:0:FFFF:', '::', '64:ff9b::', '0064:FF9B:0:0:0:0:', '2002:'])
        for (const inner of [groups, bytes.join('.')]) {
          const six = prefix === '2002:' ? `2002:${groups}::` : `${prefix}${inner}`;
          t.throws(() => outbound.check(`https://[${six}]/`), refused, six);
        }
    }),
    { numRuns: 1000 },
  );
});

test.serial('every connection attempt is detected by this file', async t => {
  const allowing = createOutbound({ allowHosts: ['127.0.0.1'], clock: { now: () => 0 } });
  t.teardown(() => allowing.close());
  const before = connects;
  await allowing.post(`http://127.0.0.1:${PORT}/`, { headers: {}, body: '', signal: never });
  t.is(connects, before + 2);
  connects = before;
});
