import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { type Commands, createCommands } from '../../../core/control/commands.ts';
import { callControl, controlPath, serveControl } from '../../../core/control/control.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { createLog } from '../../../core/runtime/log.ts';

const log = createLog({ level: 'silent', format: 'json' });
const status = {
  version: '1.2.3',
  url: null,
  dataDir: 'data',
  configFile: null,
  ready: [],
  users: ['ada'],
};

/** Commands over a list of names; these tests are about the connection to them. */
function commandsOver(names: string[]): Commands {
  const user = (name: string) => ({
    id: name,
    name,
    nameKey: name,
    issuer: '',
    subject: '',
    createdAt: 0,
    memoryAccess: true,
    signedOutAt: null,
    role: 'owner' as const,
    disabledAt: null,
  });
  return createCommands({
    users: {
      async add(name) {
        if (names.includes(name)) throw new AppError('conflict', `there is a ${name} already`);
        names.push(name);
        return user(name);
      },
      list: async () => names.map(user),
      async byName(name) {
        if (!names.includes(name)) throw new AppError('not_found', `there is no ${name}`);
        return user(name);
      },
      token: async name => `token of ${name}`,
      setMemoryAccess: async name => user(name),
      rename: unused,
      setDisabled: unused,
      setRole: unused,
    },
    accounts: { signOut: unused, lost: unused, disable: unused, remove: unused },
    vocabularies: { words: unused, put: unused, add: unused, remove: unused, expected: unused },
    retention: { get: unused, put: unused, preview: unused, rulesOf: unused, wordsOf: unused },
    accesses: { record() {} },
    remains: unused,
    listening: { get: unused, pause: unused, resume: unused, scheduleWords: unused },
    speechProfiles: { get: unused, record: unused, remove: unused },
    recordings: { add: unused, get: unused },
    locks: { set: async () => 'ada' },
    accountExport: {
      archive() {
        throw new Error('not used here');
      },
    },
    takeIn: unused,
    foreignImports: { check: unused, take: unused, undo: unused, list: unused },
    backups: { begin() {}, progress: () => ({ running: false, backup: null, error: null }), state: unused },
    channelAddresses: {
      channels: async () => [],
      add: unused,
      edit: unused,
      list: async () => [],
      remove: async () => {},
      test: async () => null,
    },
    signIn: {
      setPassword: async () => {},
      rotateKeys: async () => {},
    },
    keys: {
      create: async (userId, { name, scopes = [] }) => ({
        record: {
          id: 'k1',
          userId,
          name,
          hash: '',
          hint: '',
          scopes: [...scopes],
          createdAt: 0,
          lastUsedAt: null,
        },
        key: 'raw',
      }),
      list: async () => [],
      find: unused,
      rotate: async () => Promise.reject(new AppError('not_found', 'Key not found')),
      remove: async () => {},
      parseScopes: () => ['listen'],
    },
    apps: {
      list: async () => [],
      keys: async () => [],
      create: unused,
      createKey: unused,
      install: unused,
      rotate: unused,
      remove: unused,
      removeKey: unused,
      uninstall: unused,
      parseActions: () => [],
      parseScopes: () => [],
    },
    hooks: { list: async () => [], set: unused, find: unused, enable: unused, remove: unused },
    testHook: unused,
    calendarLinks: { renew: unused, remove: unused },
    calendarSync: { connect: unused, get: async () => null, disconnect: unused, syncNow: unused },
    status: async () => status,
  });
}

const unused = () => Promise.reject(new AppError('not_found', 'not used here'));

async function place(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-control-'));
  t.teardown(() => rm(dir, { recursive: true }));
  return controlPath(join(dir, 'data'));
}

async function serve(t: ExecutionContext, limits = {}, commands = commandsOver(['ada'])): Promise<string> {
  const path = await place(t);
  const control = await serveControl(path, commands, log, limits);
  t.teardown(() => control.close());
  return path;
}

/** Sends bytes, and returns the server's answer up to the end of the connection. */
async function say(path: string, bytes: string): Promise<string> {
  const socket = createConnection(path);
  socket.end(bytes);
  return text(socket);
}

test('commands over the socket have the same results as in-process', async t => {
  const path = await serve(t);
  t.deepEqual(await callControl(path, 'user.add', { name: ' grace ' }), { id: 'grace', name: 'grace' });
  t.deepEqual(await callControl(path, 'user.list', {}), [
    { id: 'ada', name: 'ada', createdAt: '1970-01-01T00:00:00.000Z', role: 'owner', disabledAt: null },
    { id: 'grace', name: 'grace', createdAt: '1970-01-01T00:00:00.000Z', role: 'owner', disabledAt: null },
  ]);
  t.deepEqual(await callControl(path, 'token', { user: 'ada' }), { token: 'token of ada' });
  t.deepEqual(await callControl(path, 'key', { user: 'ada', scopes: ['listen'] }), {
    id: 'k1',
    key: 'raw',
    scopes: ['listen'],
  });
  t.deepEqual(await callControl(path, 'status', {}), status);
});

test('an error is sent over the socket with its code and message', async t => {
  const path = await serve(t);
  const taken = await t.throwsAsync(callControl(path, 'user.add', { name: 'ada' }), { instanceOf: AppError });
  t.is(taken?.code, 'conflict');
  t.is(taken?.message, 'there is a ada already');
  const unknown = await t.throwsAsync(callControl(path, 'key', { user: 'eve', scopes: [] }), {
    instanceOf: AppError,
  });
  t.is(unknown?.code, 'not_found');
  t.is(unknown?.message, 'there is no eve');
  const blank = await t.throwsAsync(callControl(path, 'user.add', { name: '  ' }), { instanceOf: AppError });
  t.is(blank?.code, 'invalid_request');
  t.regex(blank?.message ?? '', /^user\.add: name: /);
});

test('only its owner can open the socket', async t => {
  const path = await serve(t);
  t.is((await stat(path)).mode & 0o777, 0o600);
  t.is((await stat(join(path, '..'))).mode & 0o777, 0o700);
});

test('no server is "absent", not an error', async t => {
  t.is(await callControl(await place(t), 'status', {}), 'absent');
});

test('a second server on the same directory is refused, and the first one continues', async t => {
  const path = await serve(t);
  const refused = await t.throwsAsync(serveControl(path, commandsOver([]), log), { instanceOf: AppError });
  t.is(refused?.code, 'conflict');
  t.regex(refused?.message ?? '', /already running on .*data/);
  t.deepEqual(await callControl(path, 'status', {}), status);
});

test('of many servers that start at once over a stale socket exactly one starts', async t => {
  const path = await place(t);
  await leaveStale(path);
  const starts = await Promise.allSettled(
    Array.from({ length: 5 }, () => serveControl(path, commandsOver([]), log)),
  );
  const started = starts.filter(start => start.status === 'fulfilled');
  t.teardown(() => Promise.all(started.map(start => start.value.close())));
  t.is(started.length, 1);
  t.deepEqual(await callControl(path, 'user.list', {}), []);
});

test('a socket left behind by a killed server is absent to callers and replaced by the next server', async t => {
  const path = await place(t);
  await leaveStale(path);
  t.is(await callControl(path, 'status', {}), 'absent');
  const control = await serveControl(path, commandsOver([]), log);
  t.teardown(() => control.close());
  t.deepEqual(await callControl(path, 'user.list', {}), []);
});

test('an invalid message is answered by an error, and the connection stays open', async t => {
  const path = await serve(t);
  const lines = (
    await say(
      path,
      'hello\n{"command":"nope"}\n{"command":"user.list","args":[]}\n{"command":"token","args":{"user":"ada"}}\n',
    )
  )
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  t.deepEqual(
    lines.map(line => line.error?.code ?? line.result),
    ['invalid_request', 'not_found', 'invalid_request', { token: 'token of ada' }],
  );
});

test('a line over the limit ends the connection with the reason', async t => {
  const path = await serve(t, { maxLineBytes: 100 });
  const answer = JSON.parse(await say(path, 'x'.repeat(101)));
  t.is(answer.error.code, 'too_large');
});

test('a connection that takes too long is closed', async t => {
  const path = await serve(t, { timeLimitMs: 50 });
  const socket = createConnection(path);
  socket.resume();
  await once(socket, 'close');
  t.deepEqual(await callControl(path, 'status', {}), status);
});

test('a server that does not answer in time is reported as such', async t => {
  const released = Promise.withResolvers<typeof status>();
  const path = await serve(t, {}, { ...commandsOver([]), status: () => released.promise });
  const late = await t.throwsAsync(callControl(path, 'status', {}, { timeLimitMs: 50 }), {
    instanceOf: AppError,
  });
  t.is(late?.code, 'timeout');
  released.resolve(status);
});

test('closing lets a running command finish', async t => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let finished = false;
  const slow: Commands = {
    ...commandsOver([]),
    async token() {
      entered.resolve();
      await release.promise;
      finished = true;
      return { token: '' };
    },
  };
  const path = await place(t);
  const control = await serveControl(path, slow, log);
  const call = t.throwsAsync(callControl(path, 'token', { user: 'ada' }), { instanceOf: AppError });
  await entered.promise;
  const closed = control.close();
  release.resolve();
  await closed;
  t.true(finished);
  t.is((await call)?.code, 'unavailable');
});

test('a data directory with too long a path is reported, with instructions', async t => {
  const path = controlPath(join(await place(t), '..', 'x'.repeat(120)));
  const error = await t.throwsAsync(serveControl(path, commandsOver([]), log), { instanceOf: AppError });
  t.regex(error?.message ?? '', /too long.*dataDir/);
});

/** Leaves the socket file of a killed process. */
async function leaveStale(path: string): Promise<void> {
  const script = `
    const fs = require('node:fs'), path = require('node:path');
    fs.mkdirSync(path.dirname(process.argv[1]), { recursive: true });
    require('node:net').createServer().listen(process.argv[1], () => console.log('up'));`;
  const child = spawn(process.execPath, ['-e', script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
}
