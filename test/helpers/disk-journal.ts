/** Reconstructs a disk as it is after a power loss, from the journal written by disk-journal.c. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Dice } from '../torture/dice.ts';

export interface Step {
  kind:
    | 'create'
    | 'write'
    | 'truncate'
    | 'begin sync'
    | 'sync'
    | 'remove'
    | 'rename'
    | 'make directory'
    | 'sync names';
  /** Path relative to the watched directory; empty: the directory itself. */
  name: string;
  /** Position of a write; for a sync, the id of its thread. */
  offset: number;
  data: Buffer;
  /** Length of the journal up to the end of this step, in bytes. */
  end: number;
}

const KINDS: Readonly<Record<string, Step['kind']>> = {
  c: 'create',
  w: 'write',
  t: 'truncate',
  s: 'sync',
  u: 'remove',
  r: 'rename',
  m: 'make directory',
  d: 'sync names',
  b: 'begin sync',
};
const HEAD_BYTES = 21;

export function parseJournal(bytes: Buffer): Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < bytes.length; ) {
    const kind = KINDS[String.fromCharCode(bytes.readUInt8(at))];
    if (!kind) throw new Error(`byte ${at} of the journal begins no step`);
    const nameEnd = at + HEAD_BYTES + bytes.readUInt32LE(at + 1);
    const end = nameEnd + Number(bytes.readBigUInt64LE(at + 13));
    steps.push({
      kind,
      name: bytes.toString('utf8', at + HEAD_BYTES, nameEnd),
      offset: Number(bytes.readBigUInt64LE(at + 5)),
      data: bytes.subarray(nameEnd, end),
      end,
    });
    at = end;
  }
  return steps;
}

/** A file; also a directory, without content. */
interface File {
  safe: Buffer;
  /** Steps that are only in memory. */
  unsynced: Step[];
}

/** Files by path. */
type Names = Map<string, File>;
/** A change of names (create, remove, rename), which is durable once its directory is synced. */
interface Renaming {
  parent: string;
  run(names: Names): void;
}

const isDirectory = ({ kind }: Step) => kind === 'make directory';
const parentOf = (path: string) => (dirname(path) === '.' ? '' : dirname(path));

/**
 * Simulates a disk that keeps only synced data. The content of a file is kept by a sync of the file, and its name by a sync of
 * its directory, both as of the beginning of the sync.
 */
export function createVolatileDisk() {
  const now: Names = new Map();
  const safe: Names = new Map();
  const directories = new Set<string>();
  let unsynced: Renaming[] = [];
  /** Steps that the running sync of each thread covers. */
  const syncing = new Map<number, ReadonlySet<Step | Renaming>>();

  function rename(path: string, run: Renaming['run']) {
    run(now);
    unsynced.push({ parent: parentOf(path), run });
  }

  function take(step: Step) {
    const { kind, name, offset } = step;
    if (kind === 'begin sync')
      return syncing.set(offset, new Set([...unsynced, ...(now.get(name)?.unsynced ?? [])]));
    if (kind === 'sync names') return syncNames(name, offset);
    if (isDirectory(step)) directories.add(name);
    if (kind === 'create' || isDirectory(step)) {
      const made: File = { safe: Buffer.alloc(0), unsynced: [] };
      return rename(name, names => names.set(name, made));
    }
    const file = now.get(name);
    if (!file) throw new Error(`${kind} of ${name}, which is not there`);
    if (kind === 'remove') return rename(name, names => names.delete(name));
    if (kind === 'rename')
      return rename(name, names => names.delete(name) && names.set(String(step.data), file));
    if (kind !== 'sync') return file.unsynced.push(step);
    const isSynced = (each: Step) => syncing.get(offset)?.has(each);
    file.safe = applied(file.safe, file.unsynced.filter(isSynced));
    file.unsynced = file.unsynced.filter(each => !isSynced(each));
  }

  function syncNames(directory: string, thread: number) {
    const isSynced = (each: Renaming) => each.parent === directory && syncing.get(thread)?.has(each);
    for (const each of unsynced) if (isSynced(each)) each.run(safe);
    unsynced = unsynced.filter(each => !isSynced(each));
  }

  /**
   * Returns the files that exist when the power is back: everything that was synced, and a random part of the rest, in any
   * order and cut between sectors. Changes of names reach the disk in order.
   */
  function afterPowerLoss(dice: Dice): Map<string, Buffer> {
    const names = new Map(safe);
    for (const { run } of unsynced.slice(0, dice.between(0, unsynced.length))) run(names);
    const sectorBytes = dice.pick([512, 4096]);
    const share = dice.pick([0, 0.1, 0.5, 0.9, 1]);
    const survives = () => dice.next() < share;
    const found = new Map<string, Buffer>();
    for (const [name, file] of names) {
      const isReachable = parentOf(name) === '' || names.has(parentOf(name));
      if (!isReachable || directories.has(name)) continue;
      const steps = file.unsynced.flatMap(step => (step.kind === 'write' ? torn(step, sectorBytes) : [step]));
      found.set(name, applied(file.safe, steps.filter(survives)));
    }
    return found;
  }

  return {
    take,
    afterPowerLoss,
    /** Returns what the process itself would read now. */
    read(name: string): Buffer | null {
      const file = now.get(name);
      return file ? applied(file.safe, file.unsynced) : null;
    },
  };
}

/** Writes the files of a disk into a directory. */
export async function restore(directory: string, files: ReadonlyMap<string, Buffer>): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const [name, content] of files) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
}

function applied(content: Buffer, steps: readonly Step[]): Buffer {
  const ends = steps.map(({ offset, data }) => offset + data.length);
  const room = Buffer.alloc(ends.reduce((most, end) => Math.max(most, end), content.length));
  let length = content.copy(room);
  for (const { kind, offset, data } of steps) {
    const end = offset + data.copy(room, offset);
    if (kind === 'truncate') room.fill(0, end);
    length = kind === 'truncate' ? end : Math.max(length, end);
  }
  return room.subarray(0, length);
}

/** Splits a write at sector boundaries: a disk writes a sector whole or not at all. */
function torn(step: Step, sectorBytes: number): Step[] {
  const { offset, data } = step;
  const pieces: Step[] = [];
  for (let from = 0; from < data.length; ) {
    const to = Math.min(data.length, from + sectorBytes - ((offset + from) % sectorBytes));
    pieces.push({ ...step, offset: offset + from, data: data.subarray(from, to) });
    from = to;
  }
  return pieces;
}
