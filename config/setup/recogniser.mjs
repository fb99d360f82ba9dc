/** A speech recogniser for this machine: the configured model of sherpa-onnx if it can be had, else pocketsphinx. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { fetchModel, isComplete, modelDirectory } from './model.mjs';

const PACKAGES = ['libpocketsphinx3', 'pocketsphinx-en-us'];
const LIBRARY_DIRECTORIES = ['/usr/lib', '/usr/lib64', '/usr/local/lib', '/lib'];
/** Time until a failed step is tried again, so that not every start waits for it. */
const RETRY_AFTER_MS = 24 * 60 * 60 * 1000;
/** A slow line must not hold a start up for longer; the next start goes on. */
const FETCH_LIMIT_MS = 10 * 60 * 1000;
const APT_LIMIT_MS = 180_000;

/**
 * Never fails: without a recogniser everything else still runs, and the reason is said.
 * @param options.notes where to note what failed; null to try it all
 * @param options.mayFetch may a model be fetched from the net
 * @param options.mayInstall may system packages be installed
 * @param options.mayImprove fetch the model although pocketsphinx is there
 * @returns `ready`: nothing is left to do; `makeshift`: pocketsphinx serves in place of the model; `unneeded`: neither is
 *   configured; `none`
 */
export async function makeRecogniserReady(options) {
  const { settings, mayFetch, mayInstall, mayImprove } = options;
  const { sherpa, pocketsphinx } = settings;
  if (!sherpa.wanted && !pocketsphinx.wanted) return 'unneeded';
  // An operator's own model is his own care, and the program says what is wrong with it.
  if (sherpa.wanted && sherpa.own) return 'ready';
  const model = chosenModel(options);
  if (model !== null && (await isComplete(model.model, model.directory))) return 'ready';

  const hasSphinx = pocketsphinx.wanted && isSphinxThere(pocketsphinx);
  if (model !== null && mayFetch && (mayImprove || !hasSphinx) && (await fetched(model, options)))
    return 'ready';
  const withSphinx = model === null ? 'ready' : 'makeshift';
  if (hasSphinx) return withSphinx;
  if (pocketsphinx.wanted && mayInstall && canInstall() && (await installed(pocketsphinx, options)))
    return withSphinx;
  options.say(advice(model, pocketsphinx, options.env));
  return 'none';
}

function chosenModel({ catalogue, settings: { sherpa, dataDir } }) {
  const name = sherpa.model ?? catalogue.defaults['sherpa-onnx'];
  if (!sherpa.wanted || !Object.hasOwn(catalogue.models, name)) return null;
  const model = catalogue.models[name];
  const elsewhere = dataDir === join(process.cwd(), 'data') ? null : `--data-dir ${dataDir}`;
  return {
    name,
    model,
    directory: sherpa.directory ?? modelDirectory(dataDir, name, model),
    into: sherpa.directory ? `--into ${sherpa.directory}` : elsewhere,
  };
}

async function fetched(model, { env, notes, now, say }) {
  const note = notes && join(notes, `fetch-${model.name}.json`);
  if (failedLately(note, now)) return false;
  try {
    await fetchModel({ ...model, say, limitMs: FETCH_LIMIT_MS });
    forget(note);
    say(`The speech model ${model.name} is ready`);
    return true;
  } catch (error) {
    if (!error.resumable) remember(note, now);
    const next = error.resumable ? 'The next start goes on from there' : 'The next try is in a day';
    const again = notes ? `${next}, or by hand` : 'Once more';
    say(`The speech model could not be fetched: ${error.message}. ${again}: ${fetchCommand(model, env)}`);
    return false;
  }
}

function isSphinxThere({ library, files }) {
  return files.every(existsSync) && (isAbsolute(library) ? existsSync(library) : librarySomewhere(library));
}

function librarySomewhere(name) {
  const triplets = LIBRARY_DIRECTORIES.flatMap(directory =>
    (existsSync(directory) ? readdirSync(directory) : [])
      .filter(entry => entry.includes('-linux-'))
      .map(entry => join(directory, entry)),
  );
  return [...LIBRARY_DIRECTORIES, ...triplets].some(directory => existsSync(join(directory, name)));
}

/** Debian and what is made from it, as root. */
function canInstall() {
  return process.getuid?.() === 0 && isDebian();
}

function isDebian() {
  if (!existsSync('/etc/os-release')) return false;
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(readFileSync('/etc/os-release', 'utf8'));
}

async function installed(pocketsphinx, { env, notes, now, say }) {
  const note = notes && join(notes, 'install-pocketsphinx.json');
  if (failedLately(note, now)) return false;
  say(`Installing pocketsphinx, a small recogniser of English (apt-get install ${PACKAGES.join(' ')}) …`);
  const install = ['install', '-y', '--no-install-recommends', ...PACKAGES];
  // A fresh container has no package lists yet.
  let problem = await aptGet(install, env);
  if (problem !== null) problem = (await aptGet(['update'], env)) ?? (await aptGet(install, env));
  if (problem === null && !isSphinxThere(pocketsphinx))
    problem = 'its files are not where they are configured';
  if (problem !== null) {
    remember(note, now);
    say(`pocketsphinx could not be installed: ${problem}${notes ? '. The next try is in a day' : ''}`);
    return false;
  }
  forget(note);
  say('pocketsphinx is installed');
  return true;
}

/** Resolves to what went wrong, in its own last words, or null. */
function aptGet(args, env) {
  return new Promise(resolve => {
    const child = spawn('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=60', ...args], {
      env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: APT_LIMIT_MS,
    });
    let said = '';
    child.stderr.on('data', chunk => {
      said = (said + chunk).slice(-2000);
    });
    child.on('error', error => resolve(error.message));
    child.on('close', (code, signal) => {
      const reason = said.trim().split('\n').at(-1) || `apt-get ended with ${signal ?? code}`;
      resolve(code === 0 ? null : reason);
    });
  });
}

function advice(model, pocketsphinx, env) {
  const ways = [];
  if (model !== null) ways.push(fetchCommand(model, env));
  if (pocketsphinx.wanted && isDebian()) ways.push(`sudo apt-get install -y ${PACKAGES.join(' ')}`);
  const how = ways.length > 0 ? `; make one ready with: ${ways.join('   or: ')}` : '';
  return `No speech recogniser is ready on this machine${how}`;
}

/** As this command was called, with a path only where it would otherwise look elsewhere. */
function fetchCommand({ name, into }, { EARSHOT_CALLED_AS: earshot = 'npx earshot' }) {
  return `${earshot} models pull ${name}${into === null ? '' : ` ${into}`}`;
}

function failedLately(note, now) {
  if (!note || !existsSync(note)) return false;
  try {
    const { failedAt } = JSON.parse(readFileSync(note, 'utf8'));
    const age = now - failedAt;
    return age >= 0 && age < RETRY_AFTER_MS;
  } catch {
    return false;
  }
}

function remember(note, now) {
  if (!note) return;
  try {
    mkdirSync(join(note, '..'), { recursive: true });
    writeFileSync(note, JSON.stringify({ failedAt: now }));
  } catch {
    // Where nothing can be written the next start tries again.
  }
}

function forget(note) {
  if (note) rmSync(note, { force: true });
}
