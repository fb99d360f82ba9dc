import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../contract/model.ts';
import type { Utterance } from '../../contract/plugin.ts';
import type { Log } from '../../runtime/log.ts';

/**
 * Saves an utterance as a WAV file when every recogniser has failed at it often enough, so that its stream can
 * continue.
 */
export interface Quarantine {
  /**
   * Notes that an utterance is begun again. This counts as a try in advance, in case the process crashes during it.
   * @param from the sample up to which its text is stored
   * @returns whether it was tried often enough and is in a file now
   */
  again(streamId: string, utterance: Utterance, from: number): Promise<boolean>;
  /** Takes a try back: its connection ended in good order before it did. */
  spared(streamId: string): Promise<void>;
  /** Notes that recognisers opened, and failed at this utterance once more. Parameters and result as with `again`. */
  failed(streamId: string, utterance: Utterance, from: number): Promise<boolean>;
  /** Forgets earlier failures: the stream has progressed, so its audio was not at fault. */
  passed(streamId: string): Promise<void>;
}

interface QuarantineOptions {
  dir: string;
  clock: Clock;
  log: Log;
  /** Throws where the disk has no room for it. */
  checkDisk(): Promise<void>;
}

/** Tries before an utterance is quarantined … */
const MIN_TRIES = 5;
/** … and time since the first of them, in which a failing server may recover. */
const MIN_MS = 600_000;

/** Failures by stream: the sample at which it fails, how often, and since when (epoch ms). */
const Failing = z.record(z.string(), z.object({ from: z.number(), tries: z.number(), since: z.number() }));
type Failure = z.infer<typeof Failing>[string];

/** Deletes the quarantined audio of these streams, whose account is gone. */
export async function removeQuarantined(dir: string, streamIds: readonly string[]): Promise<void> {
  const gone = new Set(streamIds);
  const names = await readdir(dir).catch(() => []);
  for (const name of names)
    if (gone.has(name.slice(0, ID_CHARS)) && name.endsWith('.wav'))
      await rm(join(dir, name), { force: true });
}
/** Lists quarantined audio of streams that `isMeant`, by path, that was written before this instant (epoch ms). */
export async function quarantinedBefore(
  dir: string,
  before: number,
  isMeant: (streamId: string) => Promise<boolean>,
): Promise<string[]> {
  const paths: string[] = [];
  for (const name of await readdir(dir).catch(() => [])) {
    if (!name.endsWith('.wav')) continue;
    const path = join(dir, name);
    const file = await stat(path).catch(() => null); // it may be gone by now
    if (file && file.mtimeMs < before && (await isMeant(name.slice(0, ID_CHARS)))) paths.push(path);
  }
  return paths;
}

/** Length of a stream's id, with which file names begin. */
const ID_CHARS = 36;

export function createQuarantine({ dir, clock, log, checkDisk }: QuarantineOptions): Quarantine {
  const path = join(dir, 'tries.json');
  let reading: Promise<Map<string, Failure>> | null = null;
  let saving = Promise.resolve();
  /** Failures that `again` has counted and that are not resolved yet. */
  const counted = new Set<Failure>();

  async function read() {
    const text = await readFile(path, 'utf8').catch(() => '{}');
    try {
      return new Map(Object.entries(Failing.parse(JSON.parse(text))));
    } catch (error) {
      log.warn({ err: error, path }, 'tries of utterances cannot be read; they count from the start');
      return new Map<string, Failure>();
    }
  }

  async function failureOf(streamId: string): Promise<Failure | undefined> {
    reading ??= read();
    return (await reading).get(streamId);
  }

  async function failureAt(streamId: string, from: number): Promise<Failure> {
    const known = await failureOf(streamId);
    if (known?.from === from) return known;
    const fresh = { from, tries: 0, since: clock.now() };
    (await reading)?.set(streamId, fresh);
    return fresh;
  }

  function isEnough({ tries, since }: Failure) {
    return tries >= MIN_TRIES && clock.now() - since >= MIN_MS;
  }

  /** Written without a sync: it must survive a crash of the process, but not a power failure. */
  function saveTries(): Promise<void> {
    saving = saving.then(async () => {
      try {
        await mkdir(dir, { recursive: true, mode: 0o700 });
        const all = Object.fromEntries((await reading) ?? []);
        await writeFile(`${path}.new`, JSON.stringify(all), { mode: 0o600 });
        await rename(`${path}.new`, path);
      } catch (error) {
        log.warn({ err: error, path }, 'tries of an utterance are counted in memory alone');
      }
    });
    return saving;
  }

  async function save(streamId: string, utterance: Utterance, from: number): Promise<true> {
    await write(streamId, utterance, from);
    (await reading)?.delete(streamId);
    await saveTries();
    return true;
  }

  async function write(streamId: string, utterance: Utterance, from: number) {
    const wav = await utterance.wav(from, new AbortController().signal);
    await checkDisk();
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const wavPath = join(dir, `${streamId}-${from}.wav`);
    const file = await open(wavPath, 'w', 0o600);
    try {
      await file.writeFile(wav);
      await file.sync();
    } finally {
      await file.close();
    }
    log.error(
      { stream: streamId, path: wavPath },
      'every recogniser fails at an utterance; its audio is quarantined as a file',
    );
  }

  return {
    async again(streamId, utterance, from) {
      const failure = await failureAt(streamId, from);
      if (isEnough(failure)) return save(streamId, utterance, from);
      failure.tries += 1;
      counted.add(failure);
      await saveTries();
      return false;
    },
    async failed(streamId, utterance, from) {
      const failure = await failureAt(streamId, from);
      if (!counted.delete(failure)) failure.tries += 1;
      if (isEnough(failure)) return save(streamId, utterance, from);
      await saveTries();
      return false;
    },
    async spared(streamId) {
      const failure = await failureOf(streamId);
      if (failure && counted.delete(failure)) failure.tries -= 1;
    },
    async passed(streamId) {
      const failure = await failureOf(streamId);
      if (failure) counted.delete(failure);
      (await reading)?.delete(streamId);
    },
  };
}
