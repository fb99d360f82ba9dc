import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import WebSocket, { WebSocketServer } from 'ws';
import { temporaryDirectory } from '../helpers/domain.ts';
import { eventually } from '../helpers/eventually.ts';
import { freePort } from '../helpers/free-port.ts';
import { reportSkipped } from '../helpers/skips.ts';

const ROOT = join(import.meta.dirname, '../..');
const HOW = 'apt-get install nginx-light caddy; .ci/run installs them where it may.';
/** More than a proxy's usual limit of 1 MB. */
const LARGE_BYTES = 5_000_000;

interface Proxy {
  name: string;
  /** Names and Debian's paths of the program, which may be outside of PATH. */
  programs: string[];
  /** Heading of the page's section. */
  heading: string;
  /** Adapts the page's example to these ports, without TLS. */
  adapt(example: string, port: number, upstream: number): string;
  /** Completes the example to a whole configuration. */
  around(block: string): string;
  args(folder: string, file: string): string[];
}

const PROXIES: Proxy[] = [
  {
    name: 'nginx',
    programs: ['nginx', '/usr/sbin/nginx'],
    heading: '## nginx',
    adapt: (example, port, upstream) =>
      example
        .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
        .replace(/^ *ssl_certificate.*\n/gm, '')
        .replace('127.0.0.1:8420', `127.0.0.1:${upstream}`),
    around: block =>
      `daemon off;\nmaster_process off;\nerror_log stderr;\npid nginx.pid;\nevents {}\nhttp {\naccess_log off;\n${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path tmp;`).join('\n')}\n${block}\n}\n`,
    args: (folder, file) => ['-p', folder, '-c', file, '-e', 'stderr'],
  },
  {
    name: 'Caddy',
    programs: ['caddy'],
    heading: '## Caddy',
    adapt: (example, port, upstream) =>
      example
        .replace('earshot.example.org', `http://:${port}`)
        .replace('127.0.0.1:8420', `127.0.0.1:${upstream}`),
    around: block => `{\nadmin off\nauto_https off\n}\n${block}\n`,
    args: (_folder, file) => ['run', '--config', file, '--adapter', 'caddyfile'],
  },
];

function find({ programs }: Proxy): string | null {
  return programs.find(program => !spawnSync(program, ['-v'], { stdio: 'ignore' }).error) ?? null;
}

test('nginx and Caddy are installed, or this is not CI and their tests are skipped', t => {
  const missing = PROXIES.filter(proxy => find(proxy) === null).map(({ name }) => name);
  if (missing.length === 0) return t.pass();
  reportSkipped(t, 'proxies', `tests of ${missing.join(' and ')}`, HOW);
});

/** Stands in for Earshot: reports the request, and echoes WebSocket messages. */
async function upstream(t: ExecutionContext): Promise<number> {
  const server = createServer(async (asked, answer) => {
    let bytes = 0;
    for await (const chunk of asked) bytes += chunk.length;
    answer.end(JSON.stringify({ url: asked.url, headers: asked.headers, bytes }));
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, { headers }) => {
    socket.send(String(headers['x-forwarded-for']));
    socket.on('message', message => socket.send(message.toString()));
    socket.on('error', () => {}); // a Caddy that is stopped sends a close frame without the mask that clients must set
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function start(t: ExecutionContext, proxy: Proxy, program: string): Promise<number> {
  const folder = await temporaryDirectory(t);
  await mkdir(join(folder, 'tmp'));
  const page = await readFile(join(ROOT, 'docs/reverse-proxy.md'), 'utf8');
  const [, example = ''] = /```\w+\n(.*?)```/s.exec(page.slice(page.indexOf(proxy.heading))) ?? [];
  const port = await freePort();
  const file = join(folder, 'configuration');
  await writeFile(file, proxy.around(proxy.adapt(example, port, await upstream(t))));
  const child: ChildProcess = spawn(program, proxy.args(folder, file), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  const said = child.stderr ? text(child.stderr) : Promise.resolve('');
  t.teardown(async () => {
    const ended = child.exitCode === null ? once(child, 'exit') : null;
    child.kill('SIGTERM');
    await ended;
  });
  await eventually(
    async () => {
      if (child.exitCode !== null) throw new Error(`${proxy.name} ended: ${await said}`);
      return ask(port, { path: '/' }).catch(() => null);
    },
    answer => answer !== null,
  );
  return port;
}

/** A request with the host name of the examples. */
async function ask(port: number, { path, body = '' }: { path: string; body?: string | Buffer }) {
  const sending = request({
    ...{ host: '127.0.0.1', port, path, method: body === '' ? 'GET' : 'POST' },
    headers: { host: 'earshot.example.org', 'x-forwarded-for': '6.6.6.6', 'content-length': body.length },
  });
  sending.end(body);
  const [answer] = await once(sending, 'response');
  return { status: answer.statusCode as number, body: await text(answer) };
}

for (const proxy of PROXIES) {
  const program = find(proxy);
  (program === null ? test.skip : test)(
    `the documented configuration of ${proxy.name} passes WebSockets and large bodies, sets X-Forwarded-For, and keeps metrics in`,
    async t => {
      const port = await start(t, proxy, program ?? '');
      t.is((await ask(port, { path: '/metrics' })).status, 404);
      const told = JSON.parse((await ask(port, { path: '/v1/x?y=1', body: Buffer.alloc(LARGE_BYTES) })).body);
      t.like(told, { url: '/v1/x?y=1', bytes: LARGE_BYTES });
      t.is(told.headers['x-forwarded-for'], '127.0.0.1', 'and not what a client says');
      t.is(told.headers.host, 'earshot.example.org');
      const socket = new WebSocket(`ws://127.0.0.1:${port}/v4/listen`, {
        headers: { host: 'earshot.example.org', 'x-forwarded-for': '6.6.6.6' },
      });
      const [first] = await once(socket, 'message');
      t.is(String(first), '127.0.0.1');
      socket.send('sound');
      const [echo] = await once(socket, 'message');
      t.is(String(echo), 'sound');
      socket.close();
    },
  );
}
