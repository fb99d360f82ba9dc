import { globSync, readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { matchesGlob, posix } from 'node:path';
import test from 'ava';

/** Allowed imports. The first row that matches a file is its rule; a file without a row breaks the test. */
interface Rule {
  from: string[];
  /** Files of the project that may be imported, besides those of its own row. */
  may?: string[];
  /** Files of which only types may be imported. */
  types?: string[];
  /** Packages and built-in modules, if not all are allowed. */
  packages?: string[];
  /** Removed when types are stripped. */
  typesOnly?: true;
}

const CONTRACTS = ['core/contract/**/*.ts', 'bridge/driver.ts'];
const RUNTIME = ['core/runtime/*.ts'];
const CONFIG = ['config/{called-as,load,schema}.ts'];
/** Files that plugins and authors share: no plugin reaches into another. */
const KIT = ['plugins/kit/*.ts', 'plugins/kit/{engine,geometry,message,sherpa,wyoming}/*.ts'];

const RULES: Rule[] = [
  { from: CONTRACTS, types: ['core/**'], packages: ['zod'], typesOnly: true },
  { from: RUNTIME, types: CONTRACTS },
  { from: ['core/audio/recording-file.ts'], may: ['core/audio/pcm.ts', ...RUNTIME] },
  {
    from: ['core/audio/**'],
    may: RUNTIME,
    types: CONTRACTS,
    packages: ['@evan/opus/**', '@echogarden/speex-resampler-wasm/**', 'lc3codec'],
  },
  { from: ['core/listen/protocol.ts'], packages: ['zod'] },
  { from: ['core/domain/**'], may: ['config/nearest.ts', ...RUNTIME], types: CONTRACTS },
  {
    from: ['core/listen/recognition/**'],
    may: [
      'core/audio/*.ts',
      'core/domain/languages.ts',
      'core/listen/{,connection,recogniser}/*.ts',
      'plugins/kit/json.ts',
      'plugins/kit/wyoming/*.ts',
      ...RUNTIME,
    ],
    types: ['core/plugin-host/plugin-host.ts', ...CONTRACTS],
  },
  {
    from: ['core/listen/**'],
    may: ['core/{domain,audio}/**', 'core/listen/protocol.ts', ...RUNTIME],
    types: CONTRACTS,
  },
  { from: ['core/pipeline/**'], may: ['core/domain/**', ...RUNTIME], types: CONTRACTS },
  { from: ['core/delivery/**'], may: ['core/domain/**', ...RUNTIME], types: CONTRACTS },
  {
    from: ['core/http/**'],
    may: ['core/{domain,delivery,listen,pipeline}/**', ...RUNTIME],
    types: ['config/schema.ts', 'core/{system,backup}/*.ts', ...CONTRACTS],
  },
  { from: ['core/backup/**'], may: RUNTIME, types: ['config/schema.ts', ...CONTRACTS] },
  {
    from: ['core/control/**'],
    may: ['core/listen/spool/orphaned-audio.ts', ...RUNTIME],
    types: ['core/{backup,domain,plugin-host}/**', ...CONFIG, ...CONTRACTS],
  },
  {
    from: ['core/system/**'],
    may: ['config/{keys,nearest}.ts', 'config/setup/{model,proposal}.mjs', ...RUNTIME],
    types: ['core/{backup,control,domain,plugin-host}/**', ...CONFIG, ...CONTRACTS],
  },
  {
    from: ['core/plugin-host/**'],
    may: ['config/{keys,nearest}.ts', ...RUNTIME, ...CONFIG],
    types: CONTRACTS,
  },
  { from: ['core/{app,services}.ts', 'core/services/*.ts'], may: ['core/**', ...CONFIG] },
  {
    from: ['core/{main,serve}.ts'],
    may: [
      'core/app.ts',
      'core/plugin-host/{faults,safe-mode}.ts',
      'core/control/*.ts',
      ...RUNTIME,
      ...CONFIG,
    ],
    types: ['core/listen/recognition/service.ts'],
  },
  {
    from: ['core/cli/doctor/**'],
    may: [
      'core/{plugin-host,control}/*.ts',
      'plugins/kit/suites/{speech,stt}.ts',
      'core/delivery/{addresses,names}.ts',
      'core/cli/*.ts',
      'core/backup/restore.ts',
      'core/listen/{protocol,spool/orphaned-audio}.ts',
      'config/setup/{language-model,proposal}.mjs',
      ...RUNTIME,
      ...CONFIG,
    ],
    types: CONTRACTS,
  },
  {
    from: ['core/cli/**'],
    may: [
      'core/{app,serve}.ts',
      'core/audio/*.ts',
      'core/control/*.ts',
      'core/backup/*.ts',
      'core/plugin-host/starts.ts',
      'core/listen/protocol.ts',
      'core/system/models.ts',
      'config/{called-as,load,nearest}.ts',
      'config/setup/{model,proposal}.mjs',
      'config/parent.mjs',
      ...RUNTIME,
    ],
    types: ['plugins/kit/suites/report.ts', ...CONTRACTS],
  },
  {
    from: ['plugins/kit/suites/**'],
    may: ['core/audio/{pcm,recording-file}.ts', 'config/{keys,load}.ts', ...RUNTIME],
    types: CONTRACTS,
  },
  {
    from: ['plugins/kit/check/**'],
    may: [
      'plugins/kit/suites/*.ts',
      'core/plugin-host/*.ts',
      'core/audio/*.ts',
      'core/delivery/outbound.ts',
      'core/domain/addresses.ts',
      'config/{keys,secrets,yaml-file}.ts',
      ...RUNTIME,
      ...CONFIG,
    ],
    types: CONTRACTS,
  },
  { from: KIT, may: RUNTIME, types: ['core/**'] },
  ...globSync('plugins/*/*/index.ts', { cwd: new URL('..', import.meta.url).pathname }).map(index => ({
    from: [`${posix.dirname(index)}/**`],
    may: KIT,
    types: ['core/**'],
  })),
  {
    from: ['bridge/**'],
    may: [
      'core/listen/protocol.ts',
      'core/audio/recording-file.ts',
      'core/runtime/terminal.ts',
      'config/parent.mjs',
      ...CONFIG,
    ],
  },
  { from: ['config/**'] },
];

/** Words with exclusive owners, in code outside of comments and strings. */
const OWNED_WORDS: { what: string; pattern: RegExp; among?: string; owners: string[] }[] = [
  {
    what: 'process.env',
    pattern: /\bprocess\s*\.\s*env\b/,
    owners: ['config/{load.ts,setup.mjs,parent.mjs}', 'core/cli/main.mjs'],
  },
  {
    what: 'process.exit',
    pattern: /\bprocess\s*\.\s*exit\s*\(/,
    owners: [
      'core/main.ts',
      'core/plugin-host/faults.ts',
      'plugins/llm/llama/llama-main.ts',
      'bridge/bin.mjs',
      'core/cli/main.mjs',
      'config/setup.mjs',
    ],
  },
  {
    what: 'Date.now',
    pattern: /\bDate\s*\.\s*now\b/,
    owners: [
      'core/app.ts',
      'core/cli/doctor/doctor-main.ts',
      'plugins/kit/check/main.ts',
      'bridge/main.ts',
      'config/setup.mjs',
    ],
  },
  {
    what: 'fetch',
    pattern: /(?<![.\w])fetch\s*\(/,
    among: 'core/**',
    // The storage of backups is the operator's, and may be in the local network.
    owners: ['core/delivery/outbound.ts', 'core/backup/s3.ts', 'core/cli/**'],
  },
];

/** Packages with one owner. */
const OWNED_PACKAGES: { pattern: RegExp; owners: string[] }[] = [
  { pattern: /^(koa|koa-.*|@koa\/.*)$/, owners: ['core/http/**'] },
  {
    pattern: /^(knex|objection|better-sqlite3|pg)(\/.*)?$/,
    owners: ['plugins/storage/**', 'plugins/vectors/sqlite-vectors/**'],
  },
  { pattern: /(noble|bluetooth-hci-socket)/, owners: ['bridge/radios/noble/library.ts'] },
  { pattern: /dbus/, owners: ['bridge/radios/bluez/bus.ts'] },
  { pattern: /^(tsyringe|reflect-metadata)$/, owners: ['core/app.ts'] },
  { pattern: /^prom-client$/, owners: ['core/runtime/metrics.ts', 'bridge/health.ts'] },
  { pattern: /^(node:)?process$/, owners: [] }, // it would hide process.env and process.exit
];

type Sources = ReadonlyMap<string, string>;

/** Lists everything in these sources that the tables above forbid, one line each. */
function violations(sources: Sources): string[] {
  return [...sources].flatMap(([file, source]) => {
    const rule = RULES.find(({ from }) => matches(file, from));
    if (!rule) return [`${file} has no rule`];
    const code = withoutComments(source);
    return [
      ...importsOf(code).flatMap(entry => judgeImport(file, rule, entry)),
      ...judgeWords(file, withoutStrings(code)),
      ...(rule.typesOnly && !isTypesOnly(source) ? [`${file} holds more than types`] : []),
    ];
  });
}

interface Import {
  target: string;
  isType: boolean;
}

function judgeImport(file: string, rule: Rule, { target, isType }: Import): string[] {
  if (!target.startsWith('.')) return judgePackage(file, rule, target, isType);
  const imported = posix.join(posix.dirname(file), target);
  const isAllowed =
    matches(imported, [...rule.from, ...(rule.may ?? [])]) || (isType && matches(imported, rule.types ?? []));
  return isAllowed ? [] : [`${file} imports ${imported}`];
}

function judgePackage(file: string, rule: Rule, name: string, isType: boolean): string[] {
  const owned = OWNED_PACKAGES.find(({ pattern }) => pattern.test(name));
  if (owned && !matches(file, owned.owners)) return [`${file} imports ${name}`];
  if (isType || !rule.packages || matches(name, rule.packages)) return [];
  return [`${file} imports ${isBuiltin(name) ? 'the built-in ' : ''}${name}`];
}

function judgeWords(file: string, code: string): string[] {
  return OWNED_WORDS.filter(
    ({ pattern, among, owners }) =>
      pattern.test(code) && !matches(file, owners) && (!among || matches(file, [among])),
  ).map(({ what }) => `${file} uses ${what}`);
}

function matches(file: string, globs: readonly string[]): boolean {
  return globs.some(pattern => matchesGlob(file, pattern));
}

const STRING = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/;
const COMMENT_OR_STRING = new RegExp(`\\/\\*[\\s\\S]*?\\*\\/|\\/\\/[^\\n]*|${STRING.source}`, 'g');

function withoutComments(source: string): string {
  return source.replace(COMMENT_OR_STRING, found => (found.startsWith('/') ? ' ' : found));
}

function withoutStrings(code: string): string {
  // Code inside ${…} of a template is kept.
  return code.replace(new RegExp(STRING.source, 'g'), text =>
    text.startsWith('`') ? [...text.matchAll(/\$\{([^}]*)\}/g)].map(([, inner]) => inner).join(' ') : "''",
  );
}

/** Static and dynamic imports, re-exports, and `require`, of literal names. */
function importsOf(code: string): Import[] {
  const statics = code.matchAll(/^\s*(import|export)\b([^;'"`]*?)\bfrom\s*['"]([^'"]+)['"]/gm);
  const others = code.matchAll(/\bimport\s*['"]([^'"]+)['"]|\b(?:import|require)\s*\(\s*['"]([^'"]+)['"]/g);
  return [
    ...[...statics].map(([, , clause = '', target = '']) => ({ target, isType: isTypeClause(clause) })),
    ...[...others].map(([, bare, called]) => ({ target: bare ?? called ?? '', isType: false })),
  ];
}

function isTypeClause(clause: string): boolean {
  if (/^\s*type\b/.test(clause)) return true;
  const names = /^\s*\{([^}]*)\}\s*$/
    .exec(clause)?.[1]
    ?.split(',')
    .map(name => name.trim());
  return names?.filter(Boolean).every(name => name.startsWith('type ')) ?? false;
}

/** The sources are formatted: a statement starts in the first column. */
function isTypesOnly(source: string): boolean {
  const statements = withoutComments(source).match(/^\w.*$/gm) ?? [];
  return statements.every(line => /^(import type|export type|export interface|type|interface)\b/.test(line));
}

const ROOT = new URL('..', import.meta.url).pathname;

async function realSources(): Promise<Sources> {
  const sources = new Map<string, string>();
  for await (const file of glob('{core,plugins,bridge,config}/**/*.{ts,mjs}', { cwd: ROOT })) {
    if (!file.endsWith('.d.ts')) sources.set(file, readFileSync(`${ROOT}/${file}`, 'utf8'));
  }
  return sources;
}

test('every source file imports only what its folder allows, and exclusive words have one owner', async t => {
  const sources = await realSources();
  t.true(sources.size > 50);
  t.true(sources.has('core/main.ts') && sources.has('bridge/main.ts'));
  t.deepEqual(violations(sources), []);
});

test('tests open databases with the same copy of SQLite as the server in their process', async t => {
  const offenders: string[] = [];
  for await (const file of glob('test/**/*.ts', { cwd: ROOT }))
    if (importsOf(readFileSync(`${ROOT}/${file}`, 'utf8')).some(({ target }) => target === 'node:sqlite'))
      offenders.push(file);
  t.deepEqual(offenders, [], 'see test/helpers/sqlite.ts');
});

test('the rules find violations', t => {
  const offenders = {
    'core/contract/model.ts': 'export const answer = 42;',
    'core/contract/storage/chat.ts': 'export function answer() {}',
    'core/contract/plugin.ts': "import { z } from 'zod';\nexport type A = z.infer<typeof z>;\nz.string();",
    'core/audio/pcm.ts':
      "import { readFile } from 'node:fs/promises';\nimport { users } from '../domain/accounts/users.ts';",
    'core/domain/accounts/users.ts': "export * from '../../listen/session.ts';\nconst now = Date.now();",
    'core/listen/session.ts': "const server = await import('../http/server.ts');",
    'core/listen/protocol.ts': "import { Codec } from '../audio/codecs.ts';",
    'core/pipeline/finish.ts':
      "import {\n  type A,\n  send,\n} from '../delivery/outbound.ts';\nawait fetch('http://x');",
    'core/http/server.ts': "import { createApp } from '../app.ts';",
    'core/cli/bridge.ts': "import { runBridge } from '../../bridge/main.ts';",
    'core/cli/doctor/bluetooth.ts':
      "const { loadNoble } = await import('../../../bridge/radios/noble/library.ts');",
    'core/cli/serve.ts': "import { createUsers } from '../domain/accounts/users.ts';",
    'core/loose.ts': '',
    'core/runtime/jobs.ts': "import Koa from 'koa';\nif (process.env.X) process.exit(1);",
    'plugins/stt/whisper/acme.ts':
      "import { AppError } from '../../../core/runtime/errors.ts';\nimport knex from 'knex';\nimport { hash } from '../../identity/local/index.ts';",
    'bridge/uplink/uplink.ts':
      "import { connect } from '../../core/listen/session.ts';\nrequire('@abandonware/noble');",
    'config/load.ts': "import { env } from 'node:process';\nimport { container } from 'tsyringe';",
  };
  t.deepEqual(violations(new Map(Object.entries(offenders))), [
    'core/contract/model.ts holds more than types',
    'core/contract/storage/chat.ts holds more than types',
    'core/contract/plugin.ts holds more than types',
    'core/audio/pcm.ts imports the built-in node:fs/promises',
    'core/audio/pcm.ts imports core/domain/accounts/users.ts',
    'core/domain/accounts/users.ts imports core/listen/session.ts',
    'core/domain/accounts/users.ts uses Date.now',
    'core/listen/session.ts imports core/http/server.ts',
    'core/listen/protocol.ts imports core/audio/codecs.ts',
    'core/pipeline/finish.ts imports core/delivery/outbound.ts',
    'core/pipeline/finish.ts uses fetch',
    'core/http/server.ts imports core/app.ts',
    'core/cli/bridge.ts imports bridge/main.ts',
    'core/cli/doctor/bluetooth.ts imports bridge/radios/noble/library.ts',
    'core/cli/serve.ts imports core/domain/accounts/users.ts',
    'core/loose.ts has no rule',
    'core/runtime/jobs.ts imports koa',
    'core/runtime/jobs.ts uses process.env',
    'core/runtime/jobs.ts uses process.exit',
    'plugins/stt/whisper/acme.ts imports core/runtime/errors.ts',
    'plugins/stt/whisper/acme.ts imports knex',
    'plugins/stt/whisper/acme.ts imports plugins/identity/local/index.ts',
    'bridge/uplink/uplink.ts imports core/listen/session.ts',
    'bridge/uplink/uplink.ts imports @abandonware/noble',
    'config/load.ts imports node:process',
    'config/load.ts imports tsyringe',
  ]);
});

test('the rules ignore comments, strings and types', t => {
  const innocent = {
    'core/contract/plugin.ts':
      "/** Uses `process.env`. */\nimport type { User } from './model.ts';\nexport interface A { user: User }",
    'core/runtime/jobs.ts': "// process.exit(1)\nconst text = 'Date.now() and process.env'; /* fetch() */",
    'plugins/stt/whisper/acme.ts':
      "import type { Plugin } from '../../../core/contract/plugin.ts';\nimport { type Log } from '../../../core/runtime/log.ts';",
  };
  t.deepEqual(violations(new Map(Object.entries(innocent))), []);
});
