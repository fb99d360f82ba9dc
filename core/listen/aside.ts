import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import type { Clock } from '../model.ts';
import type { Utterance } from '../plugin.ts';

/**
 * Utterances that no recogniser gets through. Tried often enough, such a one is put aside as a WAV file, and its stream
 * goes on behind it.
 */
export interface Aside {
  /**
   * Recognisers opened, and failed in this utterance once more.
   * @param from the sample up to which its text is stored
   * @returns whether it lies in a file now
   */
  failed(streamId: string, utterance: Utterance, from: number): Promise<boolean>;
  /** The stream goes on: what failed in it before was no fault of its audio. */
  passed(streamId: string): void;
}

interface AsideOptions {
  dir: string;
  clock: Clock;
  log: Log;
  /** Throws where the disk has no room for it. */
  checkDisk(): Promise<void>;
}

/** Tries before an utterance is put aside … */
const MIN_TRIES = 5;
/** … and time since the first of them: a server that answers every request with an error may be mended by then. */
const MIN_MS = 600_000;

export function createAside({ dir, clock, log, checkDisk }: AsideOptions): Aside {
  const failing = new Map<string, { tries: number; since: number }>();

  async function write(streamId: string, utterance: Utterance, from: number) {
    const wav = await utterance.wav(from);
    await checkDisk();
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const path = join(dir, `${streamId}-${from}.wav`);
    const file = await open(path, 'w', 0o600);
    try {
      await file.writeFile(wav);
      await file.sync();
    } finally {
      await file.close();
    }
    log.error({ stream: streamId, path }, 'every recogniser fails at an utterance; its audio is put aside');
  }

  return {
    async failed(streamId, utterance, from) {
      const { tries, since } = failing.get(streamId) ?? { tries: 0, since: clock.now() };
      failing.set(streamId, { tries: tries + 1, since });
      if (tries + 1 < MIN_TRIES || clock.now() - since < MIN_MS) return false;
      await write(streamId, utterance, from);
      failing.delete(streamId);
      return true;
    },
    passed: streamId => failing.delete(streamId),
  };
}
