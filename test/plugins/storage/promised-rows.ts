/** Rows that are stored repeatedly, so that each transaction leaves traces in several tables. */

import type { Storage } from '../../../core/contract/plugin.ts';
import { conversation, job, segment, stream, user } from '../../../plugins/kit/suites/storage/rows.ts';

/** Transactions started before the first of them is reported. */
export const AT_ONCE = 4;
const OWNER = user('owner');
const TALK = conversation('talk', OWNER.id);
const STREAM = stream('stream', TALK);
const PIECES = 3;
const SAMPLES = 16_000;
const FOREVER_MS = 8.64e15;

export async function begin(storage: Storage): Promise<void> {
  await storage.transaction('begin', async tx => {
    await tx.users.insert(OWNER);
    await tx.conversations.insert(TALK);
    await tx.streams.insert(STREAM);
  });
}

/**
 * Like core: a segment, the position of its stream, and a job; the previous job is done. @param number from 1
 * on
 */
export async function storeNext(storage: Storage, number: number): Promise<void> {
  await storage.transaction('next', async tx => {
    const pieces = Array.from({ length: PIECES }, (_, i) => number * PIECES + i);
    const text = (piece: number) => `${piece} `.repeat(200);
    await tx.segments.upsert(
      pieces.map(piece =>
        segment(`piece ${piece}`, TALK, { start: piece, end: piece + 1, text: text(piece) }),
      ),
    );
    const progress = { through: number * SAMPLES, received: number, receivedSample: number * SAMPLES };
    await tx.streams.advance(OWNER.id, STREAM.id, progress);
    for (const before of await tx.jobs.claim(['finish'], FOREVER_MS, 1000, 10)) await tx.jobs.done(before);
    await tx.jobs.enqueue(job(`${number}`, number));
  });
}

/**
 * The number of the last transaction present; null if there is not even the first row.
 * @throws if one is incomplete, or one before it is missing
 */
export async function lastStored(storage: Storage): Promise<number | null> {
  const at = await storage.streams.get(OWNER.id, STREAM.id);
  const conversations = await storage.conversations.get(OWNER.id, TALK.id);
  if (!at || !conversations || !(await storage.users.get(OWNER.id))) {
    if (at || conversations) throw new Error('the beginning is there by half');
    return null;
  }
  const number = at.through / SAMPLES;
  const pieces = await storage.segments.list(OWNER.id, [TALK.id]);
  const jobs = await storage.jobs.claim(['finish'], FOREVER_MS, 1000, 10);
  const found = {
    received: at.received,
    pieces: pieces.map(({ start }) => start),
    jobs: jobs.map(({ key }) => key),
  };
  const whole = {
    received: number,
    pieces: Array.from({ length: number * PIECES }, (_, i) => i + PIECES),
    jobs: number === 0 ? [] : [`${number}`],
  };
  if (JSON.stringify(found) === JSON.stringify(whole)) return number;
  throw new Error(`transaction ${number} is there by half: ${JSON.stringify(found)}`);
}
