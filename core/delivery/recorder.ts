import type { DeliveryOutcome, Storage, Stores } from '../contract/plugin.ts';

/** Maximum outcomes that are stored in one transaction. */
const MAX_TOGETHER = 200;

interface Entry {
  outcome: DeliveryOutcome;
  also: ((tx: Stores) => Promise<void>) | null;
  resolve(): void;
  reject(error: unknown): void;
}

/** Resolves when the outcome and its consequences are on the disk. */
export type Recorder = (outcome: DeliveryOutcome, also: Entry['also']) => Promise<void>;

/** Stores outcomes that arrive during a commit together in the next one: a commit for each would cost more than the delivery. */
export function createRecorder(storage: Storage): Recorder {
  const waiting: Entry[] = [];
  let isWriting = false;

  async function write(): Promise<void> {
    isWriting = true;
    while (waiting.length > 0) await writeSome(waiting.splice(0, MAX_TOGETHER));
    isWriting = false;
  }

  async function writeSome(entries: readonly Entry[]): Promise<void> {
    try {
      await storage.transaction('record deliveries', async tx => {
        await tx.deliveries.record(entries.map(({ outcome }) => outcome));
        for (const { also } of entries) await also?.(tx);
      });
      for (const { resolve } of entries) resolve();
    } catch (error) {
      for (const { reject } of entries) reject(error);
    }
  }

  return (outcome, also) =>
    new Promise((resolve, reject) => {
      waiting.push({ outcome, also, resolve, reject });
      if (!isWriting) void write();
    });
}
