/** Replaces the live text by that of a second, better recogniser. Pure, except for the transaction at its end. */

import type { Segment } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';
import { reprocessIn } from './lifecycle.ts';

/** The live text of one utterance in one segment. */
export interface LiveText {
  segmentId: string;
  /** Position in the segment's text at the time; text before it may have been replaced since. */
  at: number;
  text: string;
}

export interface FinalText {
  userId: string;
  conversationId: string;
  /** One part for each segment of the utterance, in spoken order. */
  live: readonly LiveText[];
  /** The second recogniser's text of the whole utterance. */
  text: string;
  sttProvider: string;
}

/** Delay from the last text that arrived after the end of its conversation to its processing. */
const REPROCESS_AFTER_MS = 10_000;
/**
 * Maximum product of the numbers of words for which the texts are compared. An utterance of 30 s has about 100 words.
 */
const MAX_COMPARED = 1_000_000;

/** Replaces text that is still as the live recogniser wrote it; returns the changed segments. */
export async function replaceTextIn(tx: Stores, final: FinalText, now: number): Promise<Segment[]> {
  const { userId, conversationId, live, sttProvider } = final;
  const conversation = await tx.conversations.get(userId, conversationId);
  if (!conversation || conversation.locked) return [];
  const shares = shareOut(
    live.map(({ text }) => text),
    final.text,
  );
  const changed: Segment[] = [];
  for (const [index, part] of live.entries()) {
    const segment = await tx.segments.get(userId, part.segmentId);
    const share = shares?.[index] ?? '';
    const text = segment?.conversationId === conversationId ? replaced(segment.text, part, share) : null;
    if (segment && text !== null) changed.push({ ...segment, text, sttProvider, translations: null });
  }
  if (changed.length === 0) return [];
  await tx.segments.upsert(changed);
  if (conversation.status !== 'in_progress') await reprocessIn(tx, conversation, now + REPROCESS_AFTER_MS);
  return changed;
}

/** Null where the live text has changed, because its owner corrected it, or where nothing would change. */
export function replaced(text: string, { at, text: live }: LiveText, share: string): string | null {
  if (share === '' || live === '') return null;
  let best = -1;
  for (let found = text.indexOf(live); found >= 0; found = text.indexOf(live, found + 1))
    if (isWhole(text, found, live.length) && (best < 0 || Math.abs(found - at) < Math.abs(best - at)))
      best = found;
  if (best < 0) return null;
  const after = text.slice(0, best) + share + text.slice(best + live.length);
  return after === text ? null : after;
}

function isWhole(text: string, from: number, length: number): boolean {
  const isEdge = (char: string | undefined) => char === undefined || char === ' ';
  return isEdge(text[from - 1]) && isEdge(text[from + length]);
}

/**
 * Distributes the words of a text over as many parts as the live text had, each to the part of its counterpart. Null:
 * the texts are too long to be compared.
 */
export function shareOut(live: readonly string[], final: string): string[] | null {
  const words = wordsOf(final);
  if (live.length < 2) return [words.join(' ')];
  const heard = live.flatMap((text, part) => wordsOf(text).map(word => ({ part, key: keyOf(word) })));
  if (heard.length * words.length > MAX_COMPARED) return null;
  const partOf = align(
    heard.map(({ key }) => key),
    words.map(keyOf),
  );
  const shares: string[][] = live.map(() => []);
  for (const [index, word] of words.entries()) shares[heard[partOf[index] ?? 0]?.part ?? 0]?.push(word);
  return shares.map(share => share.join(' '));
}

/** Returns the index in `from` of the counterpart of each word of `to`, by minimum edit distance. */
function align(from: readonly string[], to: readonly string[]): number[] {
  const width = to.length + 1;
  const cost = new Uint32Array((from.length + 1) * width);
  for (let j = 0; j < width; j++) cost[j] = j;
  for (let i = 1; i <= from.length; i++) {
    cost[i * width] = i;
    for (let j = 1; j < width; j++) {
      const kept = at(i - 1, j - 1) + Number(from[i - 1] !== to[j - 1]);
      cost[i * width + j] = Math.min(kept, at(i - 1, j) + 1, at(i, j - 1) + 1);
    }
  }
  const places = new Array<number>(to.length).fill(0);
  let [i, j] = [from.length, to.length];
  while (j > 0) {
    places[j - 1] = Math.max(0, i - 1);
    if (i > 0 && at(i, j) === at(i - 1, j - 1) + Number(from[i - 1] !== to[j - 1])) [i, j] = [i - 1, j - 1];
    else if (i > 0 && at(i, j) === at(i - 1, j) + 1) i -= 1;
    else j -= 1;
  }
  return places;

  function at(row: number, column: number): number {
    return cost[row * width + column] ?? 0;
  }
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter(word => word !== '');
}

function keyOf(word: string): string {
  return word.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}
