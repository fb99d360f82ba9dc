import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { portCheck } from '../../../../core/cli/doctor/port.ts';
import { look, patientOf } from '../../../helpers/patient.ts';
import { startPlainProxy } from '../../../helpers/plain-proxy.ts';
import { buildServer, openServer } from '../../../helpers/services.ts';

async function listener(t: ExecutionContext): Promise<number> {
  const server = createServer(socket => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('a free port passes, and is free again afterwards', async t => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  for (const _ of [1, 2]) {
    const found = await look(t, portCheck, await patientOf(t, { port }));
    t.like(found.port, { level: 'good', detail: `127.0.0.1:${port} is free` });
  }
});

test("a port used by another program fails, with the program's name", async t => {
  const port = await listener(t);
  const found = await look(t, portCheck, await patientOf(t, { port }));
  t.is(found.port?.level, 'bad');
  t.regex(found.port?.detail ?? '', new RegExp(`^${port} is taken by .* \\(process ${process.pid}\\)$`));
  t.is(found.port?.cure, `stop it, or choose another: EARSHOT_PORT=${port + 1}`);
});

test('a process that cannot be inspected has no name', async t => {
  const port = await listener(t);
  const found = await look(t, portCheck, await patientOf(t, { port }, { proc: '/nowhere' }));
  t.is(found.port?.detail, `${port} is taken by another program, of another account`);
});

test('another Earshot on the port is recognised', async t => {
  const instance = await openServer(t);
  const port = Number(new URL(instance.url).port);
  const found = await look(t, portCheck, await patientOf(t, { port }));
  t.is(found.port?.detail, `${port} is taken by another Earshot, on another data directory`);
});

test('an address of another machine fails', async t => {
  const found = await look(t, portCheck, await patientOf(t, { host: '192.0.2.1', port: 8420 }));
  t.like(found.port, { level: 'bad', cure: 'choose one: EARSHOT_HOST=127.0.0.1' });
});

test('the running server is asked for its health', async t => {
  const instance = await buildServer();
  const server = await instance.app.commands.status({});
  const well = await look(t, portCheck, await patientOf(t, {}, { server }));
  t.is(well.server?.level, 'good');
  await instance.stop();
  const gone = await look(t, portCheck, await patientOf(t, {}, { server }));
  t.is(gone.server?.level, 'bad');
  const silent = await patientOf(t, {}, { server: { problem: 'the running server did not answer in time' } });
  t.like((await look(t, portCheck, silent)).server, {
    level: 'bad',
    detail: 'the running server did not answer in time',
  });
});

test('a server without a recogniser works, and the missing part is named', async t => {
  const instance = await openServer(t, {
    stt: ['pocketsphinx'],
    plugins: { pocketsphinx: { hmm: '/nowhere' } },
  });
  const server = await instance.app.commands.status({});
  const found = await look(t, portCheck, await patientOf(t, {}, { server }));
  t.is(found.server?.level, 'good');
  t.regex(found.server?.detail ?? '', /, without speech recognition \(see below\)$/);
});

test('the public URL is tested as well: WebSockets have to pass', async t => {
  const instance = await openServer(t);
  const server = await instance.app.commands.status({});
  const judge = async (publicUrl: string) =>
    (await look(t, portCheck, await patientOf(t, { publicUrl }, { server })))['public address'];
  t.like(await judge(instance.url), { level: 'good' });
  const behind = await judge(await startPlainProxy(t, instance.url));
  t.is(behind?.level, 'bad');
  t.regex(behind?.detail ?? '', /headers Upgrade and Connection/);
  t.is((await judge('http://127.0.0.1:1'))?.level, 'doubt');
});
