import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { fixedKey, keyFromCore } from '../../../bridge/uplink/key.ts';
import type { Commands } from '../../../core/control/commands.ts';
import { controlPath, serveControl } from '../../../core/control/control.ts';
import { AppError } from '../../../core/runtime/errors.ts';

const clock = createClock(Date.now);
const never = new AbortController().signal;

async function setUp(t: ExecutionContext) {
  const dataDir = await mkdtemp(join(tmpdir(), 'key-'));
  t.teardown(() => rm(dataDir, { recursive: true }));
  const lines: string[] = [];
  const told = Promise.withResolvers<void>();
  const log = pino(
    { level: 'info' },
    {
      write(line) {
        lines.push(JSON.parse(line).msg);
        told.resolve();
      },
    },
  );
  const asked: unknown[] = [];
  const source = () => keyFromCore({ dataDir, account: 'owner', clock, log });
  /** The control socket as core serves it; only the command that the bridge uses is implemented. */
  async function serve(answer: () => string = () => `omi_dev_${asked.length}`) {
    const unused = () => Promise.reject(new AppError('not_found', 'not used here'));
    const commands: Commands = {
      'user.add': unused,
      'notify.channels': unused,
      'notify.add': unused,
      'notify.list': unused,
      'notify.enable': unused,
      'notify.remove': unused,
      'notify.test': unused,
      'user.list': unused,
      'user.password': unused,
      'user.rename': unused,
      'user.role': unused,
      'user.disable': unused,
      'user.enable': unused,
      'user.lost': unused,
      'user.remove': unused,
      'user.signOut': unused,
      'system.rotateKeys': unused,
      'system.memoryAccess': unused,
      'system.lock': unused,
      'vocabulary.list': unused,
      'listening.show': unused,
      'retention.show': unused,
      'retention.set': unused,
      'retention.preview': unused,
      'listening.pause': unused,
      'listening.resume': unused,
      'listening.schedule': unused,
      'recording.add': unused,
      'recording.show': unused,
      'voice.record': unused,
      'voice.remove': unused,
      'voice.show': unused,
      'vocabulary.add': unused,
      'vocabulary.remove': unused,
      'hook.list': unused,
      'hook.set': unused,
      'hook.test': unused,
      'hook.enable': unused,
      'hook.remove': unused,
      'calendar.link': unused,
      'calendar.unlink': unused,
      'calendar.account': unused,
      'calendar.connect': unused,
      'calendar.disconnect': unused,
      'calendar.sync': unused,
      'transfer.export': unused,
      'transfer.import': unused,
      'transfer.imports': unused,
      'transfer.undo': unused,
      'transfer.progress': unused,
      'app.create': unused,
      'app.list': unused,
      'app.show': unused,
      'app.keys': unused,
      'app.keys.new': unused,
      'app.keys.revoke': unused,
      'app.rotate': unused,
      'app.delete': unused,
      'app.install': unused,
      'app.uninstall': unused,
      token: unused,
      status: unused,
      'backup.begin': unused,
      'backup.progress': unused,
      'backup.state': unused,
      'key.list': unused,
      'key.rotate': unused,
      'key.revoke': unused,
      async key(args) {
        asked.push(args);
        return { id: 'id', key: answer(), scopes: args.scopes };
      },
    };
    const control = await serveControl(controlPath(dataDir), commands, pino({ level: 'silent' }));
    t.teardown(control.close);
    return control;
  }
  return { dataDir, lines, told: told.promise, asked, source, serve };
}

test('a configured key is used unchanged', async t => {
  const keys = fixedKey('abc');
  t.is(await keys.get(never), 'abc');
  t.false(keys.refused());
});

test("core's control socket creates a listen-only key, once, and it is stored for this account only", async t => {
  const { dataDir, asked, source, serve } = await setUp(t);
  await serve();
  const keys = source();
  t.deepEqual(await Promise.all([keys.get(never), keys.get(never)]), ['omi_dev_1', 'omi_dev_1']);
  t.deepEqual(asked, [{ user: 'owner', scopes: ['listen'], name: 'bridge' }]);
  const file = join(dataDir, 'bridge', 'key');
  t.is((await readFile(file, 'utf8')).trim(), 'omi_dev_1');
  t.is((await stat(file)).mode & 0o777, 0o600);
  t.is(await source().get(never), 'omi_dev_1');
  t.is(asked.length, 1);
});

test('a stored key that core refuses is replaced at once, and a new one after a delay', async t => {
  const { asked, source, serve } = await setUp(t);
  await serve();
  await source().get(never);
  const keys = source();
  t.is(await keys.get(never), 'omi_dev_1');
  t.true(keys.refused());
  t.is(await keys.get(never), 'omi_dev_2');
  t.false(keys.refused());
  t.is(await keys.get(never), 'omi_dev_3');
  t.is(asked.length, 3);
});

test('without a core it waits, says what to do, and goes on when core is there', async t => {
  const { lines, told, source, serve } = await setUp(t);
  const key = source().get(never);
  await told;
  t.regex(
    lines[0] ?? '',
    /no API key yet: core does not run here.*start core on the data directory .* or create one .* bridge\.keyFile/,
  );
  await serve();
  t.is(await key, 'omi_dev_1');
});

test("core's refusal is told in its own words", async t => {
  const { lines, told, source, serve } = await setUp(t);
  await serve(() => {
    throw new AppError('not_found', 'no user is named "owner"');
  });
  const giveUp = new AbortController();
  const key = source().get(giveUp.signal);
  await told;
  giveUp.abort(new Error('enough'));
  await t.throwsAsync(key, { message: /enough|aborted/ });
  t.regex(lines[0] ?? '', /core refuses: no user is named "owner"/);
});

test('a caller that gives up is let go at once, and the others still get the key', async t => {
  const { told, source, serve } = await setUp(t);
  const keys = source();
  const [first, second] = [new AbortController(), new AbortController()];
  const waits = [keys.get(first.signal), keys.get(second.signal)];
  await told;
  second.abort(new Error('enough'));
  await t.throwsAsync(waits[1] ?? Promise.resolve(), { message: 'enough' });
  await serve();
  t.is(await waits[0], 'omi_dev_1');
});

test('callers that come after all others gave up get a key', async t => {
  const { told, asked, source, serve } = await setUp(t);
  const keys = source();
  const giveUp = new AbortController();
  const early = keys.get(giveUp.signal);
  await told;
  giveUp.abort(new Error('enough'));
  const late = keys.get(never);
  await t.throwsAsync(early, { message: 'enough' });
  await serve();
  t.is(await late, 'omi_dev_1');
  t.is(asked.length, 1);
});
