/**
 * Recognises memories that a user deleted, by short, salted hashes of their words: each step inside a transaction of
 * its caller. A hash has 16 bits, so that several words of a dictionary share it, and no text can be read from it.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { ForgottenMemory } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';
import { newId } from '../ids.ts';
import { gistOf, wordingOf } from './memory-likeness.ts';

/** Maximum entries per user; the oldest are deleted first. */
export const MAX_FORGOTTEN = 1000;
const HASH_CHARS = 4;
/** Required share of the shorter text's words that both have. */
const SHARED = 0.6;
/** Names count separately from other words: a memory about one person does not block the same memory about another. */
const NAME = '#';

/** Prevents these texts from being stored again from conversations. */
export async function forgetIn(
  tx: Stores,
  userId: string,
  contents: readonly string[],
  now: number,
): Promise<void> {
  for (const content of new Set(contents)) {
    const salt = randomBytes(16).toString('hex');
    const words = hashesOf(content, salt);
    await tx.forgottenMemories.insert({ id: newId(now), userId, salt, words, forgottenAt: now });
  }
  const kept = await tx.forgottenMemories.list(userId, MAX_FORGOTTEN + contents.length);
  await tx.forgottenMemories.remove(
    userId,
    kept.slice(MAX_FORGOTTEN).map(({ id }) => id),
  );
}

/** Allows these texts again, because the user has written them down. */
export async function recallIn(tx: Stores, userId: string, contents: readonly string[]): Promise<void> {
  const forgotten = await tx.forgottenMemories.list(userId, MAX_FORGOTTEN);
  const found = forgotten.filter(each => contents.some(content => isForgotten(each, content)));
  await tx.forgottenMemories.remove(
    userId,
    found.map(({ id }) => id),
  );
}

/** Whether this repeats what the user deleted, possibly in other words. */
export function isForgotten({ words, salt }: ForgottenMemory, content: string): boolean {
  const [known, said] = [parted(words), parted(hashesOf(content, salt))];
  if (known.names.size !== said.names.size || [...said.names].some(name => !known.names.has(name)))
    return false;
  const common = [...said.others].filter(word => known.others.has(word)).length;
  return common > 0 && common >= SHARED * Math.min(known.others.size, said.others.size);
}

/** Hashes the words of a text, without numbers, which may be different the next time. */
function hashesOf(content: string, salt: string): string[] {
  const { words, names } = gistOf(content);
  const hash = (word: string) => createHmac('sha256', salt).update(word).digest('hex').slice(0, HASH_CHARS);
  const others = words.size > 0 ? [...words] : [wordingOf(content)];
  return [...[...names].map(name => NAME + hash(name)), ...others.map(hash)];
}

function parted(words: readonly string[]): { names: Set<string>; others: Set<string> } {
  return {
    names: new Set(words.filter(word => word.startsWith(NAME))),
    others: new Set(words.filter(word => !word.startsWith(NAME))),
  };
}
