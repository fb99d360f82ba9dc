import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { ConfigError, loadConfig } from '../../../config/load.ts';
import type { Clock } from '../../../core/contract/model.ts';
import { BUILTIN_PLUGINS } from '../../../core/plugin-host/builtin.ts';
import { createPluginHost, type PluginHostOptions } from '../../../core/plugin-host/plugin-host.ts';
import { createLog } from '../../../core/runtime/log.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures/plugins');
const { sql } = BUILTIN_PLUGINS;
if (!sql) throw new Error('there is no sql plugin');

const realClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}),
};

interface Setup {
  dir: string;
  /** Writes a plugin's module outside the tree; returns its path. */
  write(file: string, source: string): string;
  host(yaml: string, options?: Partial<PluginHostOptions>): ReturnType<typeof createPluginHost>;
  /** Messages logged by a plugin, or by the host about it, in order. */
  messages(plugin?: string): string[];
  lines: string[];
}

/** A directory with a configuration, and hosts that are stopped after the test. */
function setUp(t: ExecutionContext): Setup {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'earshot-host-')));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const lines: string[] = [];
  const log = createLog(
    { level: 'debug', format: 'json' },
    { write: (line: string) => void lines.push(line) },
  );
  const write = (file: string, source: string) => {
    const path = join(dir, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, source);
    return path;
  };
  return {
    dir,
    write,
    lines,
    messages: plugin =>
      lines
        .map(line => JSON.parse(line))
        .filter(entry => plugin === undefined || entry.plugin === plugin)
        .map(entry => entry.msg),
    host(yaml, options = {}) {
      write('earshot.yaml', yaml);
      const config = loadConfig({ cwd: dir, env: {} });
      const host = createPluginHost({
        builtin: {},
        config,
        log,
        clock: realClock,
        dataDir: join(dir, 'data'),
        ...options,
      });
      t.teardown(() => host.stop());
      return host;
    },
  };
}

/** A plugin that only runs `setup`, in which the context's members are variables. */
function source(name: string, setup: string): string {
  return `export default {
    name: '${name}', api: 1, title: 'Test',
    async setup({ log, signal, onStop, error, fail, fetch, fetchUser, state, options }) { ${setup} },
  };`;
}

const VAD = 'return { vad: { windowSize: 512, open() {} } };';

/** A clock whose sleepers wake only when told to. */
function manualClock() {
  const sleeps: { ms: number; wake: () => void }[] = [];
  let arrived = Promise.withResolvers<void>();
  let now = 0;
  const clock: Clock = {
    now: () => now,
    sleep(ms, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      sleeps.push({ ms, wake: resolve });
      arrived.resolve();
      return promise;
    },
  };
  return {
    clock,
    advance: (ms: number) => {
      now += ms;
    },
    /** Waits until somebody sleeps, wakes the sleeper, and returns the intended duration. */
    async wakeNext(): Promise<number> {
      while (sleeps.length === 0) await arrived.promise;
      arrived = Promise.withResolvers();
      const { ms, wake } = sleeps.shift() ?? { ms: Number.NaN, wake: () => {} };
      wake();
      return ms;
    },
  };
}

/** Resolves as soon as `condition` holds; the test's own time limit bounds it. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setImmediate(resolve));
}

// ── loading ─────────────────────────────────────────────────────────────────────────────────────────────────────

test('a third party’s TypeScript is loaded by path, with its options, a private directory and durable state', async t => {
  const { dir, host, messages, lines } = setUp(t);
  mkdirSync(join(dir, 'mine'));
  mkdirSync(join(dir, 'data', 'plugins', 'acme-stt'), { recursive: true, mode: 0o755 });
  copyFileSync(join(FIXTURES, 'acme-stt.ts'), join(dir, 'mine', 'acme-stt.ts'));
  const yaml = 'stt: [acme-stt]\nplugins:\n  acme-stt: { use: ./mine/acme-stt.ts, apiKey: topsecret-1 }\n';
  const first = host(yaml, { builtin: { sql }, wanted: { stt: ['acme-stt'] } });
  const storage = await first.loadStorage('sql');
  await storage.migrate();
  await first.loadAll();

  const [provider] = first.list('stt', ['gone', 'acme-stt']);
  t.is(provider?.name, 'acme-stt');
  t.is(provider?.value.model, 'acme-1');
  t.is(statSync(join(dir, 'data', 'plugins', 'acme-stt')).mode & 0o777, 0o700);
  t.true(existsSync(join(dir, 'data', 'earshot.db')), 'storage lives in the data directory itself');
  t.deepEqual(await storage.pluginState.get('acme-stt', 'runs'), { value: { count: 1 }, version: 1 });
  t.deepEqual(first.status().slice(0, 1), [
    {
      name: 'acme-stt',
      title: 'Acme speech to text. Speech is sent there',
      state: 'ready',
      reason: null,
      capabilities: ['stt'],
      builtin: false,
    },
  ]);

  await first.stop();
  t.deepEqual(messages('acme-stt').slice(-1), ['disconnected']);
  t.is(first.status()[0]?.state, 'off');
  t.false(lines.join('').includes('topsecret-1'), 'its secret is in no line of the log');

  const second = host(yaml, { builtin: { sql } });
  const again = await second.loadStorage('sql');
  await second.loadAll();
  t.deepEqual(await again.pluginState.get('acme-stt', 'runs'), { value: { count: 2 }, version: 2 });
});

test('a world-readable data directory becomes private; one that is open to its group stays', async t => {
  const { dir, host } = setUp(t);
  const data = join(dir, 'data');
  for (const [before, after] of [
    [0o755, 0o700],
    [0o750, 0o750],
    [0o701, 0o700],
  ] as const) {
    mkdirSync(data, { recursive: true });
    chmodSync(data, before);
    const plugins = host('', { builtin: { sql } });
    await plugins.loadStorage('sql');
    await plugins.stop();
    t.is(statSync(data).mode & 0o777, after);
  }
});

test('a package is resolved from the configuration’s directory; a TypeScript one, or a missing one, is reported', async t => {
  const { dir, host, write } = setUp(t);
  cpSync(join(FIXTURES, 'acme-package'), join(dir, 'node_modules', '@acme', 'earshot-plugin'), {
    recursive: true,
  });
  write('node_modules/typed/package.json', '{ "name": "typed", "type": "module", "exports": "./typed.ts" }');
  write('node_modules/typed/typed.ts', source('typed', VAD));

  const good = host('plugins: { acme-vad: { use: "@acme/earshot-plugin" } }');
  await good.loadAll();
  t.is(good.get('vad').windowSize, 512);

  await t.throwsAsync(host('plugins: { typed: { use: typed } }').loadAll(), {
    message: /Plugin typed does not start: .*must hold JavaScript/,
  });
  await t.throwsAsync(host('plugins: { gone: { use: gone-package } }').loadAll(), {
    message: /Plugin gone does not start: no package gone-package is installed in \S+; install it there, or/,
  });
  await t.throwsAsync(host('plugins: { gone: { use: ./gone.ts } }').loadAll(), {
    message: /Plugin gone does not start: .*gone\.ts: there is no such file/,
  });
});

const WRONG_SHAPES: [what: string, module: string, message: RegExp][] = [
  ['no default export', 'export const name = "bad";', /it has no default export/],
  ['a default that is no object', 'export default 3;', /its default export must be an object/],
  ['another name', 'export default { name: "good", api: 1, title: "x", setup() {} };', /"good".*"bad"/],
  [
    'a name that is no word',
    'export default { name: "Bad!", api: 1, title: "x", setup() {} };',
    /name must be small/,
  ],
  ['another api', 'export default { name: "bad", api: 2, title: "x", setup() {} };', /api must be 1, not 2/],
  ['no title', 'export default { name: "bad", api: 1, setup() {} };', /title must be text/],
  ['no setup', 'export default { name: "bad", api: 1, title: "x" };', /setup must be a function/],
  [
    'options that are no function',
    'export default { name: "bad", api: 1, title: "x", options: {}, setup() {} };',
    /options must be a function/,
  ],
  [
    'options without a schema',
    'export default { name: "bad", api: 1, title: "x", options: () => 3, setup() {} };',
    /options must return a schema/,
  ],
  [
    'no answer',
    'export default { name: "bad", api: 1, title: "x", setup() {} };',
    /setup returns, the answer must be an object, such as \{ stt: … \}/,
  ],
  [
    'an empty answer',
    'export default { name: "bad", api: 1, title: "x", setup: () => ({}) };',
    /the answer must have one of these keys: stt, vad, storage, identity/,
  ],
  [
    'an unknown capability',
    'export default { name: "bad", api: 1, title: "x", setup: () => ({ sst: {} }) };',
    /sst is no capability; did you mean stt\?$/,
  ],
  [
    'a capability without its function',
    'export default { name: "bad", api: 1, title: "x", setup: () => ({ vad: { windowSize: 1 } }) };',
    /vad\.open must be a function/,
  ],
  [
    'a capability of the wrong shape',
    'export default { name: "bad", api: 1, title: "x", setup: () => ({ stt: { sampleRate: 8000, languages: "en", model: 1, open() {} } }) };',
    /stt\.sampleRate must be 16000; stt\.languages must be 'any' or .*; stt\.model must be text or null/,
  ],
  [
    'storage in the middle',
    'export default { name: "bad", api: 1, title: "x", setup: () => ({ storage: {} }) };',
    /storage\.transaction must be a function/,
  ],
  ['a syntax error', 'export default {', /Unexpected .*\(node --check shows the line\), in .*bad-\d+\.mjs/],
];

for (const [index, [what, module, message]] of WRONG_SHAPES.entries()) {
  test(`a plugin with ${what} stops the start, and the message says so`, async t => {
    const { host, write } = setUp(t);
    write(`bad-${index}.mjs`, module);

    const error = await t.throwsAsync(host(`plugins: { bad: { use: ./bad-${index}.mjs } }`).loadAll());

    t.regex(error?.message ?? '', /^Plugin bad does not start: /);
    t.regex(error?.message ?? '', message);
  });
}

test('unknown options are reported with their place in the configuration', async t => {
  const { dir, host, write } = setUp(t);
  copyFileSync(join(FIXTURES, 'acme-stt.ts'), join(dir, 'acme-stt.ts'));
  write('plain.ts', source('plain', VAD));
  const yaml = 'plugins:\n  acme-stt:\n    use: ./acme-stt.ts\n    apiKey: short\n    modle: x\n';

  const error = await t.throwsAsync(host(yaml).loadAll(), { instanceOf: ConfigError });
  t.deepEqual(error?.problems, [
    'earshot.yaml:5: plugins.acme-stt.modle is not a known key; did you mean model?',
    'earshot.yaml:4: plugins.acme-stt.apiKey must have at least 8 characters',
  ]);
  await t.throwsAsync(host('plugins: { plain: { use: ./plain.ts, x: 1 } }').loadAll(), {
    message: /plugins\.plain\.x is not a known key; there are none here/,
  });
});

test('the configuration may name only existing plugins, and gives built-in names to no other', async t => {
  const { host } = setUp(t);
  const make = (yaml: string) => () => host(yaml, { builtin: { sql }, wanted: { stt: ['acme'] } });

  t.throws(make('plugins: { sqll: {} }'), {
    message:
      /earshot\.yaml:1: plugins\.sqll is no built-in plugin; did you mean sql\? One of your own needs use: /,
  });
  t.throws(make('plugins: { sql: { use: ./mine.ts } }'), {
    message: /plugins\.sql\.use clashes: sql is built in/,
  });
  await t.throwsAsync(make('stt: [acme]')().loadAll({ skip: ['sql'] }), {
    message: /earshot\.yaml:1: stt\.0 names no plugin: "acme"; no plugin provides stt/,
  });
  t.notThrows(make('port: 1'), 'a default that is not there is nobody’s mistake');
  const off = host('stt: [sql]\nplugins: { sql: false }', { builtin: { sql }, wanted: { stt: ['sql'] } });
  await t.throwsAsync(off.loadAll(), {
    message: /stt\.0 names sql, which plugins\.sql: false switches off/,
  });
  await t.throwsAsync(host('plugins: { sql: false }', { builtin: { sql } }).loadStorage('sql'), {
    message: /plugins\.sql cannot be false: it is the storage/,
  });
});

test('a plugin that is disabled, or skipped, is not loaded; a third party’s precedes the built-in one', async t => {
  const { host, write } = setUp(t);
  const builtin = {
    one: pathToFileURL(write('one.ts', source('one', VAD))),
    two: pathToFileURL(write('two.ts', source('two', VAD))),
    three: pathToFileURL(write('three.ts', source('three', VAD))),
  };
  write('mine.ts', source('mine', VAD));
  const plugins = host('plugins: { one: false, mine: { use: ./mine.ts } }', { builtin });

  await plugins.loadAll({ skip: ['two', 'mine'] });

  t.deepEqual(
    plugins.list('vad').map(({ name }) => name),
    ['mine', 'three'],
  );
  t.deepEqual(
    plugins.status().map(({ name, state }) => `${name} ${state}`),
    ['mine ready', 'one off', 'two off', 'three ready'],
  );
});

// ── failures at the start ───────────────────────────────────────────────────────────────────────────────────────

test('a selected plugin that throws stops the start, and everything is undone newest first', async t => {
  const { host, write, messages } = setUp(t);
  write(
    'bad.ts',
    source(
      'bad',
      `
    onStop(() => log.info('first'));
    onStop(() => { throw new Error('undo broke'); });
    onStop(() => new Promise(() => {}));
    onStop(async () => log.info('last'));
    throw new Error('no luck');`,
    ),
  );
  write('good.ts', source('good', `onStop(() => log.info('good undone')); ${VAD}`));
  const plugins = host('plugins: { good: { use: ./good.ts }, bad: { use: ./bad.ts } }', {
    limits: { undoMs: 20 },
  });

  await t.throwsAsync(plugins.loadAll(), {
    message: /^Plugin bad does not start: no luck \(at \S+bad\.ts:\d+\)$/,
  });

  const said = messages('bad');
  t.deepEqual(
    said.filter(message => message === 'first' || message === 'last'),
    ['last', 'first'],
  );
  t.is(said.filter(message => message === 'plugin could not undo all that it did').length, 2);
  t.true(messages('good').includes('good undone'));
  t.deepEqual(plugins.list('vad'), []);
});

test('a setup that hangs is aborted after its time limit, and resources it opens later are closed at once', async t => {
  const { host, write, messages } = setUp(t);
  write(
    'slow.ts',
    source(
      'slow',
      `
    onStop(() => log.info('undone, aborted: ' + signal.aborted));
    await new Promise(resolve => signal.addEventListener('abort', resolve));
    await new Promise(resolve => setImmediate(resolve));
    onStop(() => log.info('late one undone'));
    ${VAD}`,
    ),
  );

  const error = await t.throwsAsync(
    host('plugins: { slow: { use: ./slow.ts } }', { limits: { setupMs: 50 } }).loadAll(),
  );

  t.is(error?.message, 'Plugin slow does not start: setup did not finish within 50 ms');
  await until(() => messages('slow').includes('late one undone'));
  t.true(messages('slow').includes('undone, aborted: true'));
});

test('a module that never finishes loading stops the start', async t => {
  const { host, write } = setUp(t);
  write('stuck.mjs', `await new Promise(() => {}); ${source('stuck', VAD)}`);

  await t.throwsAsync(
    host('plugins: { stuck: { use: ./stuck.mjs } }', { limits: { importMs: 50 } }).loadAll(),
    {
      message: 'Plugin stuck does not start: its module did not load within 50 ms',
    },
  );
});

test('a built-in plugin that nobody selected is degraded with its reason; a selected one stops the start', async t => {
  const { host, write } = setUp(t);
  const builtin = {
    lame: pathToFileURL(write('lame.ts', source('lame', `throw new Error('went lame');`))),
    fine: pathToFileURL(write('fine.ts', source('fine', VAD))),
  };
  const { clock } = manualClock(); // the degraded one is not retried during the test
  const lit = host('port: 1', { builtin, clock, wanted: { stt: ['lame'] } });
  await lit.loadAll();

  t.is(lit.get('vad').windowSize, 512);
  t.deepEqual(lit.status()[0]?.reason, { code: 'internal', message: 'went lame' });
  t.throws(() => lit.get('stt', 'lame'), {
    code: 'unavailable',
    message: /lame gives no stt now; lame is degraded: went lame/,
  });
  t.throws(() => lit.get('identity'), { code: 'unavailable', message: /No plugin gives identity/ });

  await t.throwsAsync(host('stt: [lame]', { builtin, wanted: { stt: ['lame'] } }).loadAll(), {
    message: /lame does not start: went lame/,
  });
});

test('a plugin that returns an invalid capability is not retried: only its author can help', async t => {
  const { host, write } = setUp(t);
  const odd = pathToFileURL(write('odd.ts', source('odd', 'return { webhook: { type: 1, render() {} } };')));
  const { clock } = manualClock();
  const naps: number[] = [];
  const plugins = host('port: 1', {
    builtin: { odd },
    clock: {
      ...clock,
      sleep(ms, signal) {
        naps.push(ms);
        return clock.sleep(ms, signal);
      },
    },
  });

  await plugins.loadAll();

  const [status] = plugins.status();
  t.like(status, { state: 'degraded', reason: { code: 'invalid_request' } });
  t.regex(status?.reason?.message ?? '', /webhook\.trigger must be one of segments, audio, .*, device/);
  await plugins.stop();
  t.deepEqual(naps, []);
});

test('a plugin that does not provide what it is named for is told, with place, and with those that do', async t => {
  const { host, write } = setUp(t);
  const stt = `return { stt: { sampleRate: 16000, languages: 'any', model: null, open() {} } };`;
  write('parrot.ts', source('parrot', stt));
  write('bell.ts', source('bell', 'return { notify: { address() {}, send() {} } };'));
  write('ill.ts', source('ill', `throw error('config_error', 'no key');`));
  const yaml = `
plugins:
  parrot: { use: ./parrot.ts }
  bell: { use: ./bell.ts }
notify: [bell, parrot]
stt:
  live: [parot, bel]
  final: bell
`;
  const wanted = {
    notify: ['bell', 'parrot'],
    'stt.live': ['parot', 'bel'],
    'stt.final': 'bell',
    llm: ['x'],
  };
  const error = await t.throwsAsync(host(yaml, { wanted }).loadAll(), { instanceOf: ConfigError });
  t.deepEqual(error?.problems, [
    'earshot.yaml:5: notify.1 names parrot, which provides stt, not notify; plugins that provide notify: bell',
    'earshot.yaml:7: stt.live.0 names no plugin: "parot"; did you mean parrot?',
    'earshot.yaml:7: stt.live.1 names no plugin: "bel"; plugins that provide stt: parrot',
    'earshot.yaml:8: stt.final names bell, which provides notify, not stt; plugins that provide stt: parrot',
  ]);

  const right = host(yaml.replace('bell:', 'ill: { use: ./ill.ts }\n  bell:'), {
    wanted: { notify: ['bell', 'ill'] },
  });
  await right.loadAll(); // nobody knows what a plugin provides that lacks its key
  t.throws(() => right.get('stt', 'bell'), {
    code: 'unavailable',
    message: 'bell provides notify, not stt; plugins that provide stt: parrot, ill',
  });
});

test('a misspelt capability is told with the one that was meant', async t => {
  const { host, write } = setUp(t);
  write('parrot.ts', source('parrot', 'return { notifiy: {} };'));
  const yaml = 'plugins:\n  parrot: { use: ./parrot.ts }\n';
  await t.throwsAsync(host(yaml).loadAll(), {
    message: /notifiy is no capability; did you mean notify\?$/,
  });
});

test('types that are imported as values are told with the way to import them', async t => {
  const { host, write } = setUp(t);
  write(
    'node_modules/earshot/package.json',
    '{ "name": "earshot", "exports": { "./plugin": { "types": "./x.d.ts" } } }',
  );
  write('bell.mts', `import { Plugin } from 'earshot/plugin';\n${source('bell', VAD)}`);
  await t.throwsAsync(host('plugins: { bell: { use: ./bell.mts } }').loadAll(), {
    message: /bell does not start: earshot\/plugin has nothing but types: write `import type /,
  });
});

test('a file given without ./ is reported with it', async t => {
  const { host, write } = setUp(t);
  write('bell.mts', source('bell', VAD));
  await t.throwsAsync(host('plugins: { bell: { use: bell.mts } }').loadAll(), {
    message: /bell does not start: no package bell\.mts is installed in \S+; did you mean \.\/bell\.mts\?$/,
  });
});

const webhook = (type: string, aliases: string[] = []) =>
  `return { webhook: { type: '${type}', aliases: ${JSON.stringify(aliases)}, trigger: 'day', render: () => null } };`;

test('a webhook with the name of another is left out: built-in ones keep theirs, and so does the first of two', async t => {
  const { host, write } = setUp(t);
  const builtin = {
    slow: pathToFileURL(
      write(
        'slow.ts',
        source('slow', `await new Promise(setImmediate); ${webhook('created', ['creation'])}`),
      ),
    ),
  };
  write('taker.ts', source('taker', webhook('created')));
  write('second.ts', source('second', webhook('other', ['creation'])));
  write('third.ts', source('third', webhook('creation')));
  write('mine.ts', source('mine', webhook('mine', ['own'])));
  write('same.ts', source('same', webhook('own')));
  const uses = ['taker', 'second', 'third', 'mine', 'same'].map(name => `  ${name}: { use: ./${name}.ts }\n`);
  const plugins = host(`plugins:\n${uses.join('')}`, { builtin });

  await plugins.loadAll();

  t.deepEqual(
    plugins.list('webhook').map(({ name }) => name),
    ['mine', 'slow'],
  );
  const reasons = Object.fromEntries(plugins.status().map(({ name, reason }) => [name, reason]));
  t.deepEqual(reasons.taker, {
    code: 'config_error',
    message:
      'taker gives the webhook created, which slow gives already: rename the type or alias in taker, ' +
      'or switch the other off with plugins.slow: false',
  });
  t.regex(reasons.second?.message ?? '', /^second gives the webhook creation, which slow gives already/);
  t.regex(reasons.third?.message ?? '', /^third gives the webhook creation, which slow gives already/);
  t.regex(reasons.same?.message ?? '', /^same gives the webhook own, which mine gives already/);

  const without = host('plugins:\n  slow: false\n  taker: { use: ./taker.ts }\n', { builtin });
  await without.loadAll();
  t.deepEqual(
    without.list('webhook').map(({ name }) => name),
    ['taker'],
  );
});

test('a selected plugin with config_error is not ready rather than broken: the server runs', async t => {
  const { host, write } = setUp(t);
  write('bare.ts', source('bare', `throw error('config_error', 'its model is not there');`));
  const plugins = host('stt: [bare]\nplugins: { bare: { use: ./bare.ts } }', { wanted: { stt: ['bare'] } });

  await plugins.loadAll();

  t.is(plugins.status()[0]?.state, 'degraded');
  t.throws(() => plugins.get('stt', 'bare'), { code: 'config_error', message: /its model is not there/ });
});

test('a plugin with missing requirements starts once it is asked to retry', async t => {
  const { host, write, dir } = setUp(t);
  const model = join(dir, 'model');
  const setup = `const { existsSync } = await import('node:fs');
    if (!existsSync(${JSON.stringify(model)})) throw error('config_error', 'its model is not there');
    ${VAD}`;
  write('bare.ts', source('bare', setup));
  const plugins = host('stt: [bare]\nplugins: { bare: { use: ./bare.ts } }', { wanted: { stt: ['bare'] } });
  await plugins.loadAll();
  await plugins.retry();
  t.is(plugins.status()[0]?.state, 'degraded');

  write('model', '');
  await Promise.all([plugins.retry(), plugins.retry()]);
  t.is(plugins.get('vad', 'bare').windowSize, 512);
  t.deepEqual(plugins.options('bare')?.values, {});
  t.is(plugins.options('other'), null);
});

test('a selected plugin whose server is down does not stop the start, and is retried until it is up', async t => {
  const { host, write } = setUp(t);
  const { clock, wakeNext } = manualClock();
  const setup = `globalThis.dials = (globalThis.dials ?? 0) + 1;
    if (globalThis.dials < 3) throw error('upstream_error', 'nobody answers');
    ${VAD}`;
  write('far.ts', source('far', setup));
  const plugins = host('stt: [far]\nplugins: { far: { use: ./far.ts } }', {
    clock,
    wanted: { stt: ['far'] },
  });

  await plugins.loadAll();

  t.throws(() => plugins.get('vad', 'far'), { code: 'upstream_error', message: /nobody answers/ });
  t.deepEqual([await wakeNext(), await wakeNext()], [1000, 2000]);
  await until(() => plugins.status()[0]?.state === 'ready');
  t.is(plugins.get('vad', 'far').windowSize, 512);
});

test('several broken plugins are reported together', async t => {
  const { host, write } = setUp(t);
  for (const name of ['one', 'two']) write(`${name}.ts`, source(name, `throw new Error('${name} broke');`));

  const error = await t.throwsAsync(
    host('plugins: { one: { use: ./one.ts }, two: { use: ./two.ts } }').loadAll(),
  );

  t.regex(
    error?.message ?? '',
    /^Plugin one does not start: one broke \(at \S+one\.ts:3\)\nPlugin two does not start: two broke \(at \S+two\.ts:3\)$/,
  );
});

// ── after the start ─────────────────────────────────────────────────────────────────────────────────────────────

const FRAIL = `
  log.info('up');
  onStop(() => log.info('down'));
  return { vad: { windowSize: 512, open() { fail(error('upstream_error', 'fell over')); fail(new Error('twice')); } } };`;

test('a plugin that fails is stopped, absent for a growing pause, and restarted', async t => {
  const { host, write, messages } = setUp(t);
  const { clock, wakeNext, advance } = manualClock();
  write('frail.ts', source('frail', FRAIL));
  const plugins = host('plugins: { frail: { use: ./frail.ts } }', { clock });
  await plugins.loadAll();

  const pauses: number[] = [];
  for (const livedMs of [0, 0, 0, 10 * 60_000]) {
    advance(livedMs);
    const before = plugins.get('vad');
    before.open();
    await until(() => plugins.status()[0]?.state === 'degraded');
    t.throws(() => plugins.get('vad', 'frail'), { code: 'upstream_error', message: /fell over/ });
    pauses.push(await wakeNext());
    await until(() => plugins.status()[0]?.state === 'ready');
    t.not(plugins.get('vad'), before, 'who asks again gets the new one');
  }

  t.deepEqual(pauses, [1000, 2000, 4000, 1000], 'a long good run makes up for earlier failures');
  t.deepEqual(
    messages('frail').filter(message => message === 'up' || message === 'down'),
    [...Array(4).fill(['up', 'down']).flat(), 'up'],
  );
});

test('a failed restart is retried, at most five minutes later, until it works', async t => {
  const { host, write } = setUp(t);
  const { clock, wakeNext } = manualClock();
  const builtin = {
    shy: pathToFileURL(
      write(
        'shy.ts',
        `let tries = 0; ${source('shy', `if (++tries < 12) throw new Error('not yet'); ${VAD}`)}`,
      ),
    ),
  };
  const plugins = host('port: 1', { builtin, clock });
  await plugins.loadAll();

  const pauses: number[] = [];
  for (let start = 1; start < 12; start++) pauses.push(await wakeNext());
  await until(() => plugins.status()[0]?.state === 'ready');

  t.deepEqual(pauses.slice(0, 3), [1000, 2000, 4000]);
  t.deepEqual(pauses.slice(-2), [300_000, 300_000]);
});

test('a stop during the wait for a restart, or during a setup, ends both', async t => {
  const { host, write, messages } = setUp(t);
  const { clock } = manualClock();
  write('frail.ts', source('frail', FRAIL));
  write(
    'slow.ts',
    source('slow', `onStop(() => log.info('undone')); log.info('begun'); await new Promise(() => {});`),
  );
  const frail = host('plugins: { frail: { use: ./frail.ts } }', { clock });
  await frail.loadAll();
  frail.get('vad').open();
  await until(() => frail.status()[0]?.state === 'degraded');
  await frail.stop();
  t.is(messages('frail').filter(message => message === 'up').length, 1);

  const slow = host('plugins: { slow: { use: ./slow.ts } }');
  const loading = slow.loadAll();
  await until(() => messages('slow').includes('begun'));
  await slow.stop();
  await t.throwsAsync(loading, { message: /slow/ });
  t.true(messages('slow').includes('undone'));
});

test('plugins stop before the storage does, and its handle outlives its restart', async t => {
  const { dir, host, write, messages } = setUp(t);
  const { clock, wakeNext } = manualClock();
  write(
    'mine.ts',
    `
    import sql from ${JSON.stringify(sql.href)};
    export default { ...sql, name: 'mine', async setup(context) {
      context.onStop(() => context.log.info('storage undone'));
      const { storage } = await sql.setup(context);
      return { storage: { ...storage, transaction(name, work) {
        if (name === 'die') context.fail(new Error('disk gone'));
        return storage.transaction(name, work);
      } } };
    } };`,
  );
  write(
    'user.ts',
    source(
      'user',
      `onStop(async () => { await state.compareAndSet('k', 0, 1); log.info('user undone'); }); ${VAD}`,
    ),
  );
  const plugins = host('plugins: { mine: { use: ./mine.ts }, user: { use: ./user.ts } }', { clock });
  const storage = await plugins.loadStorage('mine');
  await storage.migrate();
  await plugins.loadAll();

  const woken: string[][] = [];
  storage.onEnqueued(jobs => woken.push([...jobs.keys()]));
  const enqueue = (kind: string) => storage.jobs.enqueue({ kind, key: 'k', runAt: 0, payload: {} });
  await enqueue('before');

  await storage.transaction('die', async () => {});
  await until(() => plugins.status()[0]?.state === 'degraded');
  t.throws(() => storage.users, { message: /disk gone/ });
  t.is(await wakeNext(), 1000);
  await until(() => plugins.status()[0]?.state === 'ready');
  t.deepEqual(await storage.users.list(), []);
  await enqueue('after');
  t.deepEqual(woken, [['before'], ['after']]);

  await plugins.stop();
  const said = messages().filter(message => message.endsWith('undone'));
  t.deepEqual(said, ['storage undone', 'user undone', 'storage undone']);
  t.false(existsSync(join(dir, 'data', 'plugins', 'mine')));
});

test('storage is loaded as storage only, and nothing else is', async t => {
  const { host, write } = setUp(t);
  write('vad.ts', source('vad', VAD));
  write('mine.ts', `import sql from ${JSON.stringify(sql.href)}; export default { ...sql, name: 'mine' };`);

  await t.throwsAsync(host('plugins: { vad: { use: ./vad.ts } }').loadStorage('vad'), {
    message: /vad does not start: it gives no storage/,
  });
  await t.throwsAsync(host('storage: gone', { builtin: { sql } }).loadStorage('gone'), {
    message: /earshot\.yaml:1: storage names no plugin: "gone"; known: sql/,
  });
  await t.throwsAsync(host('plugins: { mine: { use: ./mine.ts } }').loadAll(), {
    message: /mine does not start: storage loads before/,
  });
});

test('state accepts plain JSON of at most 64 KiB under short keys, and storage plugins have none', async t => {
  const { host, write, messages } = setUp(t);
  write(
    'diary.ts',
    source(
      'diary',
      `
    const attempt = async (what, key, value) => {
      try { log.info(what + ': ' + await state.compareAndSet(key, 0, value)); } catch (error) { log.info(what + ': ' + error.code); }
    };
    await attempt('fits', 'a', { list: [1, 'two', null, true] });
    await attempt('stale', 'a', 1);
    await attempt('big', 'b', 'x'.repeat(64 * 1024));
    await attempt('date', 'c', new Date(0));
    await attempt('undefined', 'd', undefined);
    await attempt('NaN', 'e', { n: NaN });
    const cycle = {}; cycle.self = cycle;
    await attempt('cycle', 'f', cycle);
    await attempt('no key', '', 1);
    log.info('keys: ' + await state.list());
    await state.delete('a');
    log.info('after: ' + await state.list('a'));
    ${VAD}`,
    ),
  );
  write(
    'mine.ts',
    `import sql from ${JSON.stringify(sql.href)};
    export default { ...sql, name: 'mine', async setup(context) { await context.state.get('x'); return sql.setup(context); } };`,
  );
  const plugins = host('plugins: { diary: { use: ./diary.ts }, mine: false }', { builtin: { sql } });
  await (await plugins.loadStorage('sql')).migrate();
  await plugins.loadAll();

  t.deepEqual(messages('diary').slice(0, 10), [
    'fits: true',
    'stale: false',
    'big: too_large',
    'date: invalid_request',
    'undefined: invalid_request',
    'NaN: invalid_request',
    'cycle: invalid_request',
    'no key: invalid_request',
    'keys: a',
    'after: ',
  ]);
  await t.throwsAsync(host('plugins: { mine: { use: ./mine.ts } }').loadStorage('mine'), {
    message: /mine has no state/,
  });
});

test('a request of a plugin ends with the plugin', async t => {
  const { host, write, messages } = setUp(t);
  const asked = Promise.withResolvers<void>();
  const server = createServer(() => asked.resolve()).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  write(
    'caller.ts',
    source(
      'caller',
      `
    const answer = fetch('http://127.0.0.1:${port}/').catch(error => log.info(error.message));
    onStop(() => answer);
    ${VAD}`,
    ),
  );
  const plugins = host('plugins: { caller: { use: ./caller.ts } }');
  await plugins.loadAll();
  await asked.promise;

  await plugins.stop();

  t.deepEqual(messages('caller').slice(-1), ['Plugin caller is being stopped']);
});

test("a request of a plugin to a user's address goes through the server, and ends with the plugin", async t => {
  const { host, write, messages } = setUp(t);
  const asked = Promise.withResolvers<string>();
  write(
    'caller.ts',
    source(
      'caller',
      `
    const request = { signal: new AbortController().signal };
    const answer = fetchUser('https://user.example/', request).catch(error => log.info(error.message));
    onStop(() => answer);
    ${VAD}`,
    ),
  );
  const plugins = host('plugins: { caller: { use: ./caller.ts } }', {
    fetchUser: (url, { signal }) => {
      asked.resolve(url);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  await plugins.loadAll();
  t.is(await asked.promise, 'https://user.example/');

  await plugins.stop();

  t.deepEqual(messages('caller').slice(-1), ['Plugin caller is being stopped']);
});

test("without a server, no user's address can be reached", async t => {
  const { host, write, messages } = setUp(t);
  write(
    'caller.ts',
    source(
      'caller',
      `
    const request = { signal: new AbortController().signal };
    await fetchUser('https://user.example/', request).catch(error => log.info(error.code));
    ${VAD}`,
    ),
  );
  await host('plugins: { caller: { use: ./caller.ts } }').loadAll();
  t.true(messages('caller').includes('unavailable'));
});
