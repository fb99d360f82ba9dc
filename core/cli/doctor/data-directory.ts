import { randomUUID } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isRestoreUnfinished, UNFINISHED_CURE } from '../../backup/restore.ts';
import {
  countOrphanedAudio,
  ORPHANED,
  ORPHANED_CURE,
  tellOrphaned,
} from '../../listen/spool/orphaned-audio.ts';
import { freeBytes } from '../../runtime/files.ts';
import { sizeOf } from '../../runtime/terminal.ts';
import type { Check } from './examination.ts';
import { codeOf, type Finding, findingsOf } from './finding.ts';

const LITTLE_BYTES = 1e9;
const TOO_LITTLE_BYTES = 1e8;
const SYNCS = 20;
const SLOW_MS = 50;
const TOO_SLOW_MS = 500;
const MAKE_ROOM = 'free space there, or set dataDir to a larger disk';

const { good, note, doubt, bad } = findingsOf('Data directory');

export const dataDirectoryCheck: Check = {
  group: 'Data directory',
  what: 'disk',
  limitMs: 20_000,
  cure: 'check the disk: dmesg, smartctl; or set dataDir to another one',
  async look({ loaded: { config } }, signal) {
    const { dataDir } = config;
    const found = await stat(dataDir).catch(codeOf);
    const restored = await interruptedRestore(dataDir);
    if (found === 'ENOENT')
      return [...(restored ?? [notYet(dataDir)]), await space(await nearest(dirname(dataDir)))];
    if (typeof found === 'string')
      return [bad('directory', `${dataDir}: ${found}`, `make it accessible, or set another dataDir`)];
    if (!found.isDirectory())
      return [bad('directory', `${dataDir} is a file`, `move it away, or set another dataDir`)];
    return [
      owner(dataDir, found),
      mode(dataDir, found.mode),
      ...(restored ?? []),
      await space(dataDir),
      ...(await writes(dataDir, signal)),
      ...(await orphanedAudio(dataDir)),
    ];
  },
};

function notYet(dataDir: string): Finding {
  return note('directory', `${dataDir} does not exist yet; the first start creates it`);
}

/** Null: there was none. */
async function interruptedRestore(dataDir: string): Promise<Finding[] | null> {
  if (!(await isRestoreUnfinished(dataDir))) return null;
  return [bad('restore', `a restore into ${dataDir} was interrupted`, UNFINISHED_CURE)];
}

async function orphanedAudio(dataDir: string): Promise<Finding[]> {
  const { files, bytes } = await countOrphanedAudio(dataDir);
  if (files === 0) return [];
  const detail = `${tellOrphaned(files, bytes)} in ${join(dataDir, ORPHANED)}`;
  return [doubt('orphaned audio', detail, ORPHANED_CURE)];
}

async function nearest(path: string): Promise<string> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  return isThere || path === dirname(path) ? path : nearest(dirname(path));
}

function owner(dataDir: string, { uid }: { uid: number }): Finding {
  const own = process.getuid?.();
  if (own === undefined || own === uid) return good('directory', dataDir);
  const detail = `${dataDir} belongs to account ${uid}, and this is account ${own}`;
  return doubt('directory', detail, `run it as that account: sudo -u '#${uid}' earshot doctor`);
}

function mode(dataDir: string, bits: number): Finding {
  const octal = (bits & 0o777).toString(8).padStart(4, '0');
  if ((bits & 0o077) === 0) return good('privacy', `mode ${octal}: only its account can read it`);
  return doubt('privacy', `mode ${octal}: other accounts can read it`, `chmod 700 ${dataDir}`);
}

async function space(directory: string): Promise<Finding> {
  const bytes = await freeBytes(directory);
  const detail = `${sizeOf(bytes)} free at ${directory}`;
  if (bytes < TOO_LITTLE_BYTES) return bad('space', detail, MAKE_ROOM);
  return bytes < LITTLE_BYTES ? doubt('space', detail, MAKE_ROOM) : good('space', detail);
}

/** Measures small writes that are synced to disk, as storage and spool make them. */
async function writes(dataDir: string, signal: AbortSignal): Promise<Finding[]> {
  const file = join(dataDir, `.doctor-${randomUUID()}`);
  try {
    const times = await timesOfSync(file, signal);
    return [good('writing', 'a file can be written'), judgeSync(times)];
  } catch (error) {
    const code = codeOf(error);
    return [bad('writing', `${dataDir} cannot be written to (${code})`, cureOf(code, dataDir))];
  } finally {
    await rm(file, { force: true }).catch(() => {});
  }
}

async function timesOfSync(file: string, signal: AbortSignal): Promise<number[]> {
  const handle = await open(file, 'wx', 0o600);
  const block = Buffer.alloc(4096, 1);
  const times: number[] = [];
  try {
    while (times.length < SYNCS && !signal.aborted) {
      await handle.write(block);
      const began = performance.now();
      await handle.datasync();
      times.push(performance.now() - began);
    }
  } finally {
    await handle.close();
  }
  return times;
}

export function judgeSync(times: readonly number[]): Finding {
  const sorted = [...times].sort((a, b) => a - b);
  const medianMs = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const detail = `fdatasync takes ${tell(medianMs)} ms, at most ${tell(sorted.at(-1) ?? 0)} ms, in ${times.length} tries`;
  const cure = 'set dataDir to a faster disk: an SSD rather than an SD card or a network share';
  if (medianMs > TOO_SLOW_MS) return bad('speed', detail, cure);
  return medianMs > SLOW_MS ? doubt('speed', detail, cure) : good('speed', detail);
}

function tell(ms: number): string {
  return ms < 10 ? ms.toFixed(1) : ms.toFixed(0);
}

function cureOf(code: string, dataDir: string): string {
  if (code === 'ENOSPC' || code === 'EDQUOT') return MAKE_ROOM;
  if (code === 'EROFS') return 'mount that disk for writing, or set another dataDir';
  return `give it to the account that runs Earshot: sudo chown -R "$(id -un)" ${dataDir}`;
}
