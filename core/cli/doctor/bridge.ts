import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sizeOf } from '../../runtime/terminal.ts';
import { addressUrl, isServing, proxyProblem } from './address.ts';
import type { Check, Patient } from './examination.ts';
import { ageOf, codeOf, type Finding, findingsOf } from './finding.ts';

const { good, note, doubt, bad } = findingsOf('Bridge');

const OLD_MS = 24 * 3600 * 1000;
const FULL = 0.5;

export const bridgeCheck: Check = {
  group: 'Bridge',
  what: 'bridge',
  limitMs: 10_000,
  cure: 'look at its log: earshot bridge',
  async look(patient) {
    const { bridge, dataDir } = patient.loaded.config;
    const directory = join(dataDir, 'bridge');
    const isKnown = (await stat(directory).catch(() => null)) !== null;
    if (!isKnown && bridge.core === undefined) return [note('bridge', 'none has run on this data directory')];
    const core = await judgeCore(patient);
    const key = await keyOf(directory, bridge.key);
    const isUp = core.level === 'good';
    return [
      core,
      await judgeKey(key, directory, isUp ? patient : null),
      await judgeSpool(patient, directory),
    ];
  },
};

/** Returns the server of the bridge: the configured one, or that of this configuration. */
function coreUrl({ loaded: { config }, server }: Patient): string {
  if (config.bridge.core !== undefined) return config.bridge.core.replace(/^ws/, 'http');
  return (
    (typeof server === 'object' && 'url' in server && server.url) || addressUrl(config.host, config.port)
  );
}

async function judgeCore(patient: Patient): Promise<Finding> {
  const url = coreUrl(patient);
  if (await isServing(url, patient)) {
    const problem = await proxyProblem(url);
    return problem ? bad('core', problem.detail, problem.cure) : good('core', `answers on ${url}`);
  }
  const cure = 'start the server, earshot serve, or correct bridge.core';
  return doubt('core', `does not answer on ${url}; audio is stored meanwhile`, cure);
}

type Key = { text: string; from: string } | { problem: string };

async function keyOf(directory: string, configured: string | undefined): Promise<Key> {
  if (configured !== undefined) return { text: configured, from: 'bridge.key' };
  const file = join(directory, 'key');
  try {
    return { text: (await readFile(file, 'utf8')).trim(), from: file };
  } catch (error) {
    return { problem: codeOf(error) };
  }
}

/** @param patient present if core answers, which is then asked whether it accepts the key */
async function judgeKey(key: Key, directory: string, patient: Patient | null): Promise<Finding> {
  const file = join(directory, 'key');
  if ('problem' in key) {
    if (key.problem === 'ENOENT')
      return note('key', 'none yet; core creates one when the bridge runs on the same machine');
    return bad('key', `${file} cannot be read (${key.problem})`, `sudo chown "$(id -un)" ${file}`);
  }
  if (patient === null) return good('key', `in ${key.from}`);
  const url = new URL(`${coreUrl(patient).replace(/\/$/, '')}/v1/dev/user/conversations?limit=1`);
  const headers = { authorization: `Bearer ${key.text}` };
  const response = await patient.fetch(url, { headers, signal: AbortSignal.timeout(3000) });
  await response.body?.cancel();
  // Its only scope is listen, so 403 shows that the key is accepted.
  if (response.status !== 401) return good('key', `core accepts the one in ${key.from}`);
  const cure =
    key.from === file ? `rm ${file}, and start the bridge again` : 'set bridge.key to one that core accepts';
  return bad('key', `core does not accept the one in ${key.from}`, cure);
}

async function judgeSpool({ loaded: { config }, clock }: Patient, directory: string): Promise<Finding> {
  const spool = join(directory, 'spool');
  const recordings = (await readdir(spool).catch(() => [])).sort();
  const sizes = await Promise.all(recordings.map(name => sizeOfDirectory(join(spool, name))));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes === 0) return good('spool', 'no audio is waiting');
  const ageMs = clock.now() - Number.parseInt(recordings[0] ?? '', 10);
  const detail = `${sizeOf(bytes)} of audio is waiting, of at most ${sizeOf(config.bridge.spoolBytes)}, the oldest for ${ageOf(ageMs)}`;
  const cure = 'start the server and the bridge, and check that a recogniser is ready';
  const isLate = ageMs > OLD_MS || bytes > FULL * config.bridge.spoolBytes;
  return isLate ? doubt('spool', detail, cure) : good('spool', detail);
}

async function sizeOfDirectory(directory: string): Promise<number> {
  const names = await readdir(directory).catch(() => []);
  const sizes = names.map(name =>
    stat(join(directory, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
