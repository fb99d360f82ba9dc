/** Names and words that a user's recognisers should expect. */
import { z } from 'zod';
import type { Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';

/** Key for core's own state, which no plugin's name can equal. */
const OWNER = 'core.vocabulary';
export const MAX_WORDS = 500;
export const MAX_WORD_CHARS = 100;
/** Attempts of a write that conflicts with concurrent ones. */
const ATTEMPTS = 5;

const Stored = z.object({ words: z.array(z.string()) });

export type Vocabularies = ReturnType<typeof createVocabularies>;

export function createVocabularies({ storage }: { storage: Pick<Storage, 'pluginState' | 'people'> }) {
  async function read(userId: string): Promise<{ words: string[]; version: number }> {
    const stored = await storage.pluginState.get(OWNER, userId);
    return stored ? { ...Stored.parse(stored.value), version: stored.version } : { words: [], version: 0 };
  }

  /**
   * Normalises words: without duplicates, in the order given; `invalid_request` where there are too many, or a word
   * is empty or too long.
   */
  async function change(userId: string, make: (words: readonly string[]) => readonly string[]) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { words: before, version } = await read(userId);
      const words = checked(make(before));
      if (await storage.pluginState.compareAndSet(OWNER, userId, version, { words })) return words;
    }
    throw new AppError('conflict', 'The vocabulary is being changed by others; try again');
  }

  return {
    /** Returns the user's own words. */
    words: async (userId: string): Promise<string[]> => (await read(userId)).words,
    put: (userId: string, words: readonly string[]): Promise<string[]> => change(userId, () => words),
    add: (userId: string, words: readonly string[]): Promise<string[]> =>
      change(userId, before => [...before, ...words]),
    remove: (userId: string, words: readonly string[]): Promise<string[]> => {
      const gone = new Set(words.map(keyOf));
      return change(userId, before => before.filter(word => !gone.has(keyOf(word))));
    },
    /** Lists the words for recognisers: the user's own words, then the names of people. */
    async expected(userId: string): Promise<string[]> {
      const [{ words }, people] = await Promise.all([read(userId), storage.people.list(userId)]);
      const names = people.map(({ name }) => name.slice(0, MAX_WORD_CHARS));
      return distinct([...words, ...names]).slice(0, MAX_WORDS);
    },
  };
}

/** Called when the account is deleted. */
export async function forgetVocabularyIn(
  { pluginState }: Pick<Stores, 'pluginState'>,
  userId: string,
): Promise<void> {
  await pluginState.delete(OWNER, userId);
}

function checked(given: readonly string[]): string[] {
  const words = distinct(given.map(word => word.toWellFormed().trim()));
  if (words.length > MAX_WORDS)
    throw new AppError('invalid_request', `A vocabulary has at most ${MAX_WORDS} words`);
  for (const word of words) {
    if (word === '' || word.length > MAX_WORD_CHARS)
      throw new AppError('invalid_request', `A word of the vocabulary has 1 to ${MAX_WORD_CHARS} characters`);
    if (/\p{Cc}/u.test(word))
      throw new AppError('invalid_request', 'A word of the vocabulary has no control characters');
  }
  return words;
}

/** Drops words that differ from an earlier one only by case. */
function distinct(words: readonly string[]): string[] {
  const seen = new Set<string>();
  return words.filter(word => !seen.has(keyOf(word)) && seen.add(keyOf(word)));
}

function keyOf(word: string): string {
  return word.trim().toLowerCase();
}
