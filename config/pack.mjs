/**
 * Builds and packs what is published. Node strips types outside of node_modules only, so a package holds JavaScript.
 *
 *   node config/pack.mjs build     before `npm pack`: emits everything into build/, which package.json's `files` names
 *   node config/pack.mjs clean     after it
 *   node config/pack.mjs bridge    packs earshot-bridge, the bridge without the server
 *   node config/pack.mjs all       packs both
 *
 * Packages go to dist/, or where `--into` says; `bridge` and `all` write nothing else into the checkout.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join, posix, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildDashboard } from './setup/dashboard.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BUILD = join(ROOT, 'build');
const into = process.argv.indexOf('--into');
const DIST = into === -1 ? join(ROOT, 'dist') : resolve(process.argv[into + 1]);
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const NOBLE = '@stoprocent/noble';
const OLDEST_NODE_OF_BRIDGE = '>=22.18';
/** Found where they are in the checkout, or of no use at run time. */
const NOT_COPIED = ['main.mjs', 'pack.mjs', 'example.yaml'];

/** Conformance suites for capabilities of plugins, which authors test with. */
const SUITES = [
  'calendar',
  'embedder',
  'identity',
  'llm',
  'notify',
  'page',
  'speakers',
  'storage',
  'stt',
  'translator',
  'understanding',
  'vad',
  'vectors',
  'webhook',
];

/** Files of the bridge that authors of drivers need. */
const DRIVER_AUTHORS = ['bridge/driver.ts', 'bridge/conformance/driver.ts'];

const TASKS = { build, clean, all, bridge };
const task = TASKS[process.argv[2]];
if (task === undefined) throw new Error(`usage: node config/pack.mjs ${Object.keys(TASKS).join('|')}`);
task();

function build() {
  clean();
  try {
    buildServer(BUILD);
  } catch (error) {
    clean(); // npm runs no postpack then
    throw error;
  }
}

function buildServer(directory) {
  const folders = ['core', 'plugins', 'bridge', 'config'];
  buildDashboard(ROOT, { say: console.error });
  emit(directory, folders);
  rmSync(join(directory, 'plugins/page/dashboard/vite.config.js'));
  const suites = SUITES.map(name => `plugins/kit/suites/${name}.ts`);
  emitTypes(directory, ['core/contract/plugin.ts', ...DRIVER_AUTHORS, 'plugins/kit/kit.ts', ...suites]);
  copyAssets(directory, folders);
  bringNoble(directory);
  writeJson(join(directory, 'package.json'), { version: manifest.version, type: manifest.type });
}

function clean() {
  rmSync(BUILD, { recursive: true, force: true });
}

function all() {
  server();
  bridge();
}

/** The same package that `npm pack` makes in the checkout, made outside of it. */
function server() {
  inStaging('earshot-', staging => {
    buildServer(join(staging, 'build'));
    for (const file of [...manifest.files, 'README.md', 'LICENSE'].filter(name => name !== 'build'))
      cpSync(join(ROOT, file), join(staging, file), { recursive: true });
    const { prepack, postpack, ...scripts } = manifest.scripts;
    writeJson(join(staging, 'package.json'), { ...manifest, scripts });
    pack(staging);
  });
}

function inStaging(prefix, work) {
  const staging = mkdtempSync(join(tmpdir(), prefix));
  try {
    work(staging);
  } finally {
    rmSync(staging, { recursive: true });
  }
}

function pack(directory) {
  mkdirSync(DIST, { recursive: true });
  execFileSync('npm', ['pack', directory, '--pack-destination', DIST, '--loglevel', 'error'], {
    stdio: 'inherit',
  });
}

/** Packs the files that bridge/ imports, and nothing else; its packages have the versions of the server. */
function bridge() {
  inStaging('earshot-bridge-', staging => {
    emit(staging, ['bridge']);
    emitTypes(staging, DRIVER_AUTHORS);
    copyAssets(staging, ['bridge']);
    bringNoble(staging);
    copyFileSync(join(ROOT, 'config', 'parent.mjs'), join(staging, 'config', 'parent.mjs'));
    copyFileSync(join(ROOT, 'bridge', 'README.md'), join(staging, 'README.md'));
    copyFileSync(join(ROOT, 'LICENSE'), join(staging, 'LICENSE'));
    const packages = importedPackages(staging);
    packages.delete('@abandonware/noble'); // it compiles, and the one that comes along does not
    writeJson(join(staging, 'package.json'), manifestOfBridge(packages));
    pack(staging);
  });
}

function manifestOfBridge(packages) {
  const { version, license, type, dependencies, optionalDependencies } = manifest;
  const among = known => Object.fromEntries(Object.entries(known).filter(([name]) => packages.has(name)));
  const unknown = [...packages].filter(name => !(name in dependencies || name in optionalDependencies));
  if (unknown.length > 0) throw new Error(`bridge/ imports ${unknown.join(', ')}, not in package.json`);
  return {
    name: 'earshot-bridge',
    private: true, // the name is not ours on any registry
    version,
    description: 'Carries what AI wearables hear over Bluetooth LE to an Earshot server.',
    license,
    type,
    engines: { node: OLDEST_NODE_OF_BRIDGE },
    bin: { 'earshot-bridge': 'bridge/bin.mjs' },
    exports: {
      './driver': { types: './bridge/driver.d.ts' },
      './conformance/driver': {
        types: './bridge/conformance/driver.d.ts',
        default: './bridge/conformance/driver.js',
      },
      './package.json': './package.json',
    },
    dependencies: among(dependencies),
    optionalDependencies: among(optionalDependencies),
  };
}

/** Names of the npm packages that emitted files import. */
function importedPackages(directory) {
  const names = new Set();
  for (const file of globSync('**/*.js', { cwd: directory })) {
    const source = readFileSync(join(directory, file), 'utf8');
    for (const [, target] of source.matchAll(/(?:\bfrom |\bimport |\b(?:import|require)\()'([^'.][^']*)'/g)) {
      if (target.startsWith('node:') || builtinModules.includes(target)) continue;
      names.add(target.split('/', target.startsWith('@') ? 2 : 1).join('/'));
    }
  }
  return names;
}

function emit(outDir, include) {
  compile(outDir, include, { rewriteRelativeImportExtensions: true });
}

function emitTypes(outDir, include) {
  compile(outDir, include, { declaration: true, emitDeclarationOnly: true });
}

/** `include`, and whatever it imports. That the types are right, `npm run check` has said. */
function compile(outDir, include, options) {
  const config = join(outDir, 'tsconfig.json');
  mkdirSync(outDir, { recursive: true });
  writeJson(config, {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      ...options,
      noEmit: false,
      noCheck: true,
      rootDir: ROOT,
      outDir,
      typeRoots: [join(ROOT, 'node_modules/@types')],
    },
    include: include.map(path => join(ROOT, path)),
  });
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', config], { stdio: 'inherit' });
  rmSync(config);
}

/** Models, recordings, built pages, plain JavaScript, licence notices: all that is no source and no manual. */
function copyAssets(outDir, folders) {
  const app = join(ROOT, 'plugins/page/dashboard/app'); // built into the folder beside it
  for (const folder of folders) {
    const filter = path => path !== app && !/\.(m?ts|md)$/.test(path) && !NOT_COPIED.includes(basename(path));
    cpSync(join(ROOT, folder), join(outDir, folder), { recursive: true, filter });
  }
}

/**
 * The Bluetooth library that needs no compiler, in the package itself. Its install script is its one trouble: finding
 * that what it has prebuilt for Linux is empty, it wants to compile as much, and where it cannot npm leaves it out.
 */
function bringNoble(outDir) {
  const from = join(ROOT, 'node_modules', NOBLE);
  const to = join(outDir, 'bridge', 'vendor', 'noble');
  for (const name of ['index.js', 'lib', 'LICENSE']) {
    cpSync(join(from, name), join(to, name), {
      recursive: true,
      filter: path => !/[\\/](common|dbus|mac|win)$/.test(path),
    });
  }
  const { name, version, license } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  writeJson(join(to, 'package.json'), { name, version, license, type: 'commonjs' });
  const library = join(outDir, 'bridge', 'radios', 'noble', 'library.js');
  const source = readFileSync(library, 'utf8');
  const call = `require('${NOBLE}')`;
  if (!source.includes(call))
    throw new Error(`bridge/radios/noble/library.ts loads ${NOBLE} in some other way`);
  const brought = posix.relative('bridge/radios/noble', 'bridge/vendor/noble/index.js');
  writeFileSync(library, source.replaceAll(call, `require('${brought}')`));
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
