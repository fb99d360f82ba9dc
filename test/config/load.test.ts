import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { type Key, keysOf } from '../../config/keys.ts';
import { ConfigError, loadConfig } from '../../config/load.ts';
import { ConfigSchema } from '../../config/schema.ts';
import type { Plugin } from '../../core/contract/plugin.ts';
import { BUILTIN_PLUGINS } from '../../core/plugin-host/builtin.ts';

const root = mkdtempSync(join(tmpdir(), 'earshot-config-'));
test.after.always(() => rmSync(root, { recursive: true }));

/** Creates a working directory, with an earshot.yaml if text is given. */
function workingDirectory(yaml?: string): string {
  const dir = mkdtempSync(join(root, 'directory-'));
  if (yaml !== undefined) writeFileSync(join(dir, 'earshot.yaml'), yaml);
  return dir;
}

function load(yaml: string | undefined, env: NodeJS.ProcessEnv = {}) {
  return loadConfig({ cwd: workingDirectory(yaml), env });
}

function problemsOf(t: ExecutionContext, work: () => unknown): readonly string[] {
  const error = t.throws(work, { instanceOf: ConfigError });
  return error?.problems ?? [];
}

test('without a file and variables every key has its default, and the data directory is in the working directory', t => {
  const cwd = workingDirectory();
  const { config, file, dir } = loadConfig({ cwd, env: {} });

  t.is(file, null);
  t.is(dir, cwd);
  t.deepEqual(config, { ...ConfigSchema.parse({}), dataDir: join(cwd, 'data') });
});

test('environment variables override the file, options of a program override both, and sections are merged', t => {
  const cwd = workingDirectory('port: 1001\nhost: 10.0.0.1\nlog: { level: warn, format: json }\n');
  const env = { EARSHOT_PORT: '1002', EARSHOT_LOG__LEVEL: 'debug' };

  const { config, isSet } = loadConfig({ cwd, env, overrides: { port: 1003, host: undefined } });

  t.is(config.port, 1003);
  t.is(config.host, '10.0.0.1');
  t.like(config.log, { level: 'debug', format: 'json' });
  t.true(isSet('log.level'));
  t.false(isSet('stt'));
});

test('the file is found by argument, then EARSHOT_CONFIG, then earshot.yaml; a named one must exist', t => {
  const cwd = workingDirectory('port: 1\n');
  writeFileSync(join(cwd, 'second.yaml'), 'port: 2\n');
  writeFileSync(join(cwd, 'third.yaml'), 'port: 3\n');
  const env = { EARSHOT_CONFIG: 'second.yaml' };

  t.is(loadConfig({ cwd, env: {} }).config.port, 1);
  t.is(loadConfig({ cwd, env }).config.port, 2);
  t.is(loadConfig({ cwd, env, file: 'third.yaml' }).file, join(cwd, 'third.yaml'));
  t.throws(() => loadConfig({ cwd, env: { EARSHOT_CONFIG: 'gone.yaml' } }), {
    message: /EARSHOT_CONFIG.*gone\.yaml/,
  });
  t.throws(() => loadConfig({ cwd, env: {}, file: 'gone.yaml' }), { message: /gone\.yaml/ });
});

test('text from the environment becomes numbers and lists; an empty variable counts as not set', t => {
  const { config } = load(undefined, {
    EARSHOT_LISTEN__IDLE_MS: '5000',
    EARSHOT_STT: 'acme, pocketsphinx',
    EARSHOT_BRIDGE__DEVICES: '["Omi, left", "Omi right"]',
    EARSHOT_BRIDGE__CONVERSATION_TIMEOUT_S: '60',
    EARSHOT_HOST: '',
    EARSHOT_OFFLINE: '1',
    EARSHOT_TEST_QDRANT_URL: 'http://localhost',
  });

  const passes = { live: 'acme', final: 'pocketsphinx' };
  t.deepEqual(load(undefined, { EARSHOT_STT: JSON.stringify(passes) }).config.stt, passes);
  t.is(config.listen.idleMs, 5000);
  t.deepEqual(config.stt, ['acme', 'pocketsphinx']);
  t.deepEqual(config.bridge.devices, ['Omi, left', 'Omi right']);
  t.is(config.bridge.conversationTimeoutS, 60);
  t.is(config.host, '127.0.0.1');
});

test('an origin has the form that browsers send, or is rejected', t => {
  const origins = ['https://app.example.org', 'http://192.168.1.5:5173', 'http://[::1]:3000', '*'];
  t.deepEqual(load(JSON.stringify({ cors: { origins } })).config.cors.origins, origins);
  for (const origin of [
    'app.example.org',
    'https://app.example.org/',
    'https://App.example.org',
    'ftp://a',
    '',
  ])
    t.regex(
      problemsOf(t, () => load(JSON.stringify({ cors: { origins: [origin] } })))[0] ?? '',
      /cors\.origins\.0 must be an origin such as https:/,
      origin,
    );
});

test('values in the file are not coerced: a number in quotes is rejected', t => {
  t.deepEqual(
    problemsOf(t, () => load('port: "8420"\n')),
    ['earshot.yaml:1: port must be a number'],
  );
});

test('all errors are reported at once, each with its key and the allowed values', t => {
  const yaml = [
    'port: 70000',
    'log:',
    '  levle: debug',
    '  format: xml',
    'stt: [1]',
    'listen: { idleMs: 1.5 }',
    'zzz: 1',
    'plugins:',
    '  Silero: {}',
    '  sql: yes please',
  ].join('\n');
  const env = { EARSHOT_LISTEN__MAX_CONNECTIONS: 'many', EARSHOT_PROT: '1', EARSHOT_PLUGINS__SQL: 'true' };

  const problems = problemsOf(t, () => load(yaml, env));

  const expected = [
    /^EARSHOT_PROT is not a known setting; did you mean EARSHOT_PORT\?$/,
    /^EARSHOT_PLUGINS__SQL can only be false/,
    /^earshot\.yaml:1: port must be at most 65535$/,
    /^earshot\.yaml:3: log\.levle is not a known key; did you mean level\?$/,
    /^earshot\.yaml:4: log\.format must be one of pretty, json, not "xml"$/,
    /^earshot\.yaml:5: stt must be a list of recognisers, or \{ live: NAME, final: NAME \}$/,
    /^earshot\.yaml:6: listen\.idleMs must be a whole number$/,
    /^earshot\.yaml:7: zzz is not a known key; known: host, port, trustedProxies, publicUrl, dataDir, /,
    /^earshot\.yaml:9: plugins\.Silero is not a plugin name: small letters/,
    /^earshot\.yaml:10: plugins\.sql must be false, or the plugin's options/,
    /^EARSHOT_LISTEN__MAX_CONNECTIONS: listen\.maxConnections must be a number$/,
  ];
  for (const pattern of expected)
    t.true(
      problems.some(problem => pattern.test(problem)),
      `${pattern}\n${problems}`,
    );
  t.is(problems.length, expected.length, problems.join('\n'));
});

test('invalid YAML is reported with file and line, and so is a duplicate key', t => {
  t.regex(problemsOf(t, () => load('port: 1\nlog: {level: [\n'))[0] ?? '', /^earshot\.yaml:[23]: /);
  t.regex(problemsOf(t, () => load('port: 1\nhost: a\nport: 2\n'))[0] ?? '', /^earshot\.yaml:3: .*unique/);
  t.regex(problemsOf(t, () => load('- port\n'))[0] ?? '', /^earshot\.yaml: must hold key: value/);
});

test('an empty file, and an empty section, mean the defaults', t => {
  t.is(load('').config.port, 8420);
  t.is(load('log:\nport:\nplugins:\n').config.log.level, 'info');
});

test('a secret is read from a file, by variable or in the YAML, without the newline at its end', t => {
  const cwd = workingDirectory('bridge: { keyFile: secrets/key }\n');
  mkdirSync(join(cwd, 'secrets'));
  writeFileSync(join(cwd, 'secrets', 'key'), 'from-the-file\n');
  writeFileSync(join(cwd, 'other'), ' from-the-other \n');

  t.is(loadConfig({ cwd, env: {} }).config.bridge.key, 'from-the-file');
  t.is(loadConfig({ cwd, env: { EARSHOT_BRIDGE__KEY_FILE: 'other' } }).config.bridge.key, 'from-the-other');
});

test('a secret file that is missing or empty, or a secret set twice, is reported; a plain setting has no _FILE', t => {
  const cwd = workingDirectory('bridge: { keyFile: gone }\n');
  writeFileSync(join(cwd, 'empty'), '\n');
  const read = (env: NodeJS.ProcessEnv) => problemsOf(t, () => loadConfig({ cwd, env })).join('\n');

  t.regex(read({}), /earshot\.yaml:1: bridge\.keyFile: the file gone cannot be read \(ENOENT\)/);
  t.regex(read({ EARSHOT_BRIDGE__KEY_FILE: 'empty' }), /EARSHOT_BRIDGE__KEY_FILE: the file empty is empty/);
  t.regex(read({ EARSHOT_BRIDGE__KEY_FILE: 'empty', EARSHOT_BRIDGE__KEY: 'k' }), /both set bridge\.key/);
  t.regex(read({ EARSHOT_HOST_FILE: 'empty' }), /EARSHOT_HOST_FILE is not a known setting/);
});

test('a secret in a list can be read from a file, too, and no description shows it', t => {
  const cwd = workingDirectory('bridge: { esphome: [{ host: a, keyFile: key }, { host: b }] }\n');
  const key = Buffer.alloc(32, 'x').toString('base64');
  writeFileSync(join(cwd, 'key'), `${key}\n`);
  const { config, describe } = loadConfig({ env: {}, cwd });
  t.deepEqual(config.bridge.esphome, [
    { host: 'a', port: 6053, key },
    { host: 'b', port: 6053 },
  ]);
  t.regex(describe(), /host: a\n {6}port: 6053\n {6}key: "?\[set\]/);
  t.false(describe().includes(key));
});

test('no message and no description shows a secret', t => {
  const yaml =
    'bridge:\n  key: hunter2\n  core: hunter2\nplugins: { acme: { use: ./acme.js, dsn: hunter2 } }\n';
  t.false(
    problemsOf(t, () => load(yaml))
      .join()
      .includes('hunter2'),
  );

  const described = load(yaml.replace('  core: hunter2\n', '')).describe();
  t.false(described.includes('hunter2'));
  t.regex(described, /key: "?\[set\]/);
  t.regex(described, /use: .*acme\.js/);
});

test('paths are relative to the file that contains them, otherwise to the working directory', t => {
  const cwd = workingDirectory();
  mkdirSync(join(cwd, 'etc'));
  const yaml =
    'dataDir: here\nbridge: { drivers: [./a.ts] }\nplugins: { one: { use: ../one.ts }, two: { use: "@org/two" } }\n';
  writeFileSync(join(cwd, 'etc', 'my.yaml'), yaml);

  const { config } = loadConfig({
    cwd,
    env: { EARSHOT_PLUGINS__THREE__USE: './three.ts' },
    file: 'etc/my.yaml',
  });

  t.is(config.dataDir, join(cwd, 'here'));
  t.deepEqual(config.bridge.drivers, [join(cwd, 'etc', 'a.ts')]);
  t.deepEqual(config.plugins, {
    one: { use: join(cwd, 'one.ts') },
    two: { use: '@org/two' },
    three: { use: join(cwd, 'three.ts') },
  });
});

const AcmeOptions = z.object({
  apiKey: z.string().min(8).meta({ secret: true }).describe('Key of the account'),
  retries: z.number().int().max(9).default(2),
  verbose: z.boolean().default(false),
  words: z.array(z.number()).default([]),
  mode: z.union([z.number(), z.enum(['auto'])]).optional(),
  nested: z.object({ timeoutMs: z.number() }).optional(),
});

test("a plugin's options come from its section and its variables, with the defaults of its schema", t => {
  const cwd = workingDirectory('plugins: { acme-stt: { use: ./acme.ts, retries: 1, apiKey: from-yaml } }\n');
  writeFileSync(join(cwd, 'key'), 'from-file\n');
  const env = {
    EARSHOT_PLUGINS__ACME_STT__API_KEY_FILE: 'key',
    EARSHOT_PLUGINS__ACME_STT__VERBOSE: 'on',
    EARSHOT_PLUGINS__ACME_STT__WORDS: '1,2',
    EARSHOT_PLUGINS__ACME_STT__MODE: 'auto',
    EARSHOT_PLUGINS__ACME_STT__NESTED__TIMEOUT_MS: '50',
    EARSHOT_PLUGINS__LONELY__X: '1',
    EARSHOT_PLUGINS__QUIET: 'false',
  };

  const { config, pluginOptions } = loadConfig({ cwd, env });

  const { values, secrets } = pluginOptions('acme-stt', AcmeOptions);
  t.deepEqual(secrets, [{ key: 'apiKey', text: 'from-file' }]);
  t.deepEqual(values, {
    apiKey: 'from-file',
    retries: 1,
    verbose: true,
    words: [1, 2],
    mode: 'auto',
    nested: { timeoutMs: 50 },
  });
  t.deepEqual(config.plugins.lonely, {}, 'a plugin that only the environment knows has a section');
  t.is(config.plugins.quiet, false);

  const overrides = { plugins: { 'acme-stt': { retries: 9, verbose: false } } };
  const told = loadConfig({ cwd, env, overrides }).pluginOptions('acme-stt', AcmeOptions).values;
  t.like(told, { retries: 9, verbose: false, mode: 'auto' }, 'a program has the last word');
});

test('options that the page sets are kept beside the file, over it and below the environment', t => {
  const yaml =
    '# mine\nplugins:\n  acme: { apiKey: from-yaml, retries: 1, mode: auto, nested: { timeoutMs: 5 } }\n';
  const cwd = workingDirectory(yaml);
  const settings = join(cwd, 'data', 'settings.yaml');
  mkdirSync(join(cwd, 'data'));
  const env = { EARSHOT_PLUGINS__ACME__VERBOSE: 'on' };
  const change = (changes: Record<string, unknown>) =>
    loadConfig({ cwd, env }).changePluginOptions('acme', AcmeOptions, new Map(Object.entries(changes)));
  const read = (withoutPage = false) =>
    loadConfig({ cwd, env }).pluginOptions('acme', AcmeOptions, withoutPage);

  change({ retries: 7, 'nested.timeoutMs': 90, apiKey: 'from-page', verbose: false });

  t.like(read().values, { retries: 7, apiKey: 'from-page', verbose: true, nested: { timeoutMs: 90 } });
  t.deepEqual(read().secrets, [{ key: 'apiKey', text: 'from-page' }]);
  t.like(read(true).values, { retries: 1, apiKey: 'from-yaml', nested: { timeoutMs: 5 } });
  t.deepEqual(read().origins.get('retries')?.from, 'page');
  t.deepEqual(read().origins.get('mode'), { from: 'file', place: 'earshot.yaml:3' });
  t.deepEqual(read().origins.get('verbose'), {
    from: 'environment',
    place: 'EARSHOT_PLUGINS__ACME__VERBOSE',
  });
  t.is(statSync(settings).mode & 0o777, 0o600, 'it may hold secrets');
  t.is(readFileSync(join(cwd, 'earshot.yaml'), 'utf8'), yaml);

  t.deepEqual(
    problemsOf(t, () => change({ retries: 10 })),
    ['earshot.yaml:3: plugins.acme.retries must be at most 9'],
  );
  t.like(read().values, { retries: 7 }, 'nothing of it was stored');

  writeFileSync(settings, `${readFileSync(settings, 'utf8')}# a remark\n`);
  change({ retries: null });
  t.like(read().values, { retries: 1, apiKey: 'from-page' });
  t.regex(readFileSync(settings, 'utf8'), /^# Options of plugins[\s\S]*# a remark\n$/);
});

test('options of the page that are wrong are left out and told, and never prevent a start', t => {
  const cwd = workingDirectory(
    'plugins: { acme: { apiKey: from-yaml, retries: 1, nested: { timeoutMs: 5 } } }\n',
  );
  mkdirSync(join(cwd, 'data'));
  const settings = join(cwd, 'data', 'settings.yaml');
  const read = () => loadConfig({ cwd, env: {} }).pluginOptions('acme', AcmeOptions);

  writeFileSync(settings, 'plugins:\n  acme:\n    retries: many\n');
  t.like(read(), {
    values: { retries: 1 },
    ignored: ['settings.yaml:3: plugins.acme.retries must be a number'],
  });

  writeFileSync(settings, 'plugins: [\n');
  t.like(read().values, { retries: 1 });
  t.regex(read().ignored[0] ?? '', /^settings\.yaml:\d: /);
  const { changePluginOptions } = loadConfig({ cwd, env: {} });
  const refusal = problemsOf(t, () => changePluginOptions('acme', AcmeOptions, new Map([['retries', 2]])));
  t.regex(refusal[0] ?? '', /settings\.yaml in the data directory is not valid YAML: correct or delete it/);
});

test("errors in a plugin's options are reported by key and path, also a typo", t => {
  const yaml = 'plugins:\n  acme:\n    retries: 10\n    verbos: true\n    nested: { timeoutMS: 1 }\n';
  const { pluginOptions } = load(yaml, {
    EARSHOT_PLUGINS__ACME__WORD: '1',
    EARSHOT_PLUGINS__ACME__WORDS: 'a',
  });

  t.deepEqual([...problemsOf(t, () => pluginOptions('acme', AcmeOptions))].sort(), [
    'EARSHOT_PLUGINS__ACME__WORD is not a known setting; did you mean EARSHOT_PLUGINS__ACME__WORDS?',
    'EARSHOT_PLUGINS__ACME__WORDS: plugins.acme.words.0 must be a number',
    'earshot.yaml:2: plugins.acme.apiKey is required: Key of the account; set it, or apiKeyFile, or EARSHOT_PLUGINS__ACME__API_KEY',
    'earshot.yaml:3: plugins.acme.retries must be at most 9',
    'earshot.yaml:4: plugins.acme.verbos is not a known key; did you mean verbose?',
    'earshot.yaml:5: plugins.acme.nested.timeoutMS is not a known key; did you mean timeoutMs?',
    'earshot.yaml:5: plugins.acme.nested.timeoutMs is required; set it, or EARSHOT_PLUGINS__ACME__NESTED__TIMEOUT_MS',
  ]);
});

for (const entry of [
  ...['nas.local', 'nas.local:8123', 'localhost', 'bücher.example', '10.0.0.5', '10.0.0.5:8123'],
  ...['10.0.0.0/8', 'fd00::5', 'fd00::/8', '[fd00::5]:8123', '[fd00::5]'],
]) {
  test(`${entry} may be allowed`, t => {
    t.deepEqual(load(`delivery: { allowHosts: ['${entry}'] }\n`).config.delivery.allowHosts, [entry]);
  });
}

for (const entry of [
  ...['', '*.local', 'http://nas.local', 'nas.local/hook', 'ada@nas.local', 'nas..local', 'nas.local:99999'],
  ...['10.0.0.0/33', '10.0.0.256', 'fd00::/129', '[fd00]', 'nas local', '10.0.0.5/8/8'],
]) {
  test(`"${entry}" cannot be allowed`, t => {
    const [problem] = problemsOf(t, () => load(`delivery: { allowHosts: ['${entry}'] }\n`));
    t.regex(problem ?? '', /^earshot.yaml:1: delivery.allowHosts.0 must be a name of a host, an address/);
  });
}

test('a problem found by the program is reported with its key', t => {
  const { problem } = load('stt:\n  - acme\n');
  t.is(problem(['stt', '0'], 'is not here').problems[0], 'earshot.yaml:2: stt.0 is not here');
});

// ── example.yaml ────────────────────────────────────────────────────────────────────────────────────────────────

const EXAMPLE = readFileSync(new URL('../../config/example.yaml', import.meta.url), 'utf8');
/** Uncomments keys as a reader does: removes a # directly before a key; prose after it stays. */
const UNCOMMENTED = EXAMPLE.replace(/^( *)#(?! |$)/gm, '$1');

/** Returns the comment above a key's line, as one line. */
function commentAbove(key: string, indent: number): string[] {
  const lines = EXAMPLE.split('\n');
  const line = new RegExp(`^ {${indent}}#${key}:`);
  return lines.flatMap((text, at) => {
    if (!line.test(text)) return [];
    const prose = lines.slice(0, at).reverse();
    const end = prose.findIndex(candidate => !/^ *# /.test(candidate));
    return [
      prose
        .slice(0, end)
        .reverse()
        .map(part => part.trim().slice(2))
        .join(' '),
    ];
  });
}

function explains(t: ExecutionContext, { path, schema }: Key) {
  const description = z.globalRegistry.get(schema as z.ZodType)?.description ?? 'described';
  const comments = commentAbove(path.at(-1) ?? '', (path.length - 1) * 2);
  t.true(
    comments.some(comment => comment.startsWith(description)),
    `${path.join('.')}: ${description}`,
  );
}

test('the example has no effect as it is, and uncommented it is valid and contains the defaults', t => {
  t.deepEqual(load(EXAMPLE).config.listen, ConfigSchema.parse({}).listen);
  t.false(load(EXAMPLE).isSet('port'));

  const cwd = workingDirectory(UNCOMMENTED);
  const { config } = loadConfig({ cwd, env: {} });
  const { core, key, name, ...bridge } = config.bridge;
  const { port, ...health } = bridge.health;
  const { token, ...metrics } = config.metrics;
  const { timeZone, ...notifications } = config.notifications;
  const { directory, ...backup } = config.backup;
  const { bucket, endpoint, accessKeyId, secretAccessKey, ...s3 } = backup.s3;
  const { file, ...log } = config.log;
  const { url, publicKey, ...updates } = config.updates;
  const { publicUrl, ...others } = config;
  t.truthy(
    core && key && name && port && token && timeZone && directory && publicUrl && file && url && publicKey,
  );
  t.truthy(bucket && endpoint && accessKeyId && secretAccessKey);
  const defaults = ConfigSchema.parse({});
  t.deepEqual(
    {
      ...others,
      backup: { ...backup, s3 },
      bridge: { ...bridge, health },
      log,
      metrics,
      notifications,
      updates,
      plugins: {},
    },
    { ...defaults, dataDir: join(cwd, 'data'), plugins: {} },
  );
});

/**
 * Uncomments each line of the example, with its sections, one at a time; also returns the comments above
 * them.
 */
function uncommentEach(): { path: string[]; line: string; yaml: string; comments: string }[] {
  const sections: { name: string; at: number; comment: string }[] = [];
  const lines = EXAMPLE.split('\n');
  return lines.flatMap((line, at) => {
    const [, indent, name] = /^( *)#([\w-]+):/.exec(line) ?? [];
    if (indent === undefined || name === undefined) return [];
    sections.length = Math.min(sections.length, indent.length / 2);
    sections.push({ name, at, comment: commentAbove(name, indent.length).join(' ') });
    const chosen = new Set(sections.map(section => section.at));
    const yaml = lines.map((text, number) => (chosen.has(number) ? text.replace('#', '') : text)).join('\n');
    const comments = sections.map(section => section.comment).join(' ');
    return [{ path: sections.map(section => section.name), line, yaml, comments }];
  });
}

test('each line of the example can be uncommented alone, with the lines of its sections', async t => {
  const each = uncommentEach();
  t.true(each.length > 120, `${each.length}`);
  for (const { path, line, yaml, comments } of each) {
    const { isSet, pluginOptions } = load(yaml);
    if (!line.endsWith(':')) t.true(isSet(path.join('.')), path.join('.'));
    const [, plugin = ''] = path[0] === 'plugins' ? path : [];
    const module = BUILTIN_PLUGINS[plugin];
    if (!module) continue;
    const { default: loaded }: { default: Plugin<unknown> } = await import(module.href);
    for (const problem of problemsWith(() =>
      pluginOptions(plugin, loaded.options?.(z) ?? z.strictObject({})),
    )) {
      const [, missing] = /\.(\w+) is required/.exec(problem) ?? [];
      t.regex(comments, new RegExp(`\\b${missing}\\b.* required`), problem);
    }
  }
});

function problemsWith(work: () => unknown): readonly string[] {
  try {
    work();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test('the example shows every key of the schema with its description', t => {
  const { isSet } = load(UNCOMMENTED);
  for (const key of keysOf(ConfigSchema)) {
    t.true(isSet(key.path.join('.')), key.path.join('.'));
    if (key.path[0] !== 'plugins') explains(t, key);
  }
});

for (const [name, module] of Object.entries(BUILTIN_PLUGINS)) {
  test(`the example shows every option of ${name}, and only those`, async t => {
    const { default: plugin }: { default: Plugin<unknown> } = await import(module.href);
    const schema = plugin.options?.(z) ?? z.strictObject({});
    const { isSet, pluginOptions } = load(UNCOMMENTED);
    for (const key of keysOf(schema)) {
      t.true(isSet(['plugins', name, ...key.path].join('.')), key.path.join('.'));
      explains(t, { ...key, path: ['plugins', name, ...key.path] });
    }
    t.notThrows(() => pluginOptions(name, schema));
  });
}
