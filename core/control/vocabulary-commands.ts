/** Commands for vocabularies: part of the table in `commands.ts`. */
import { z } from 'zod';
import type { Users } from '../domain/accounts/users.ts';
import type { Vocabularies } from '../domain/accounts/vocabulary.ts';

const user = z.string().trim().min(1).max(100);
const words = z.array(z.string().max(1000)).min(1).max(1000);
const Words = z.object({ words: z.array(z.string()) });

export const vocabularyShapes = {
  'vocabulary.list': { args: z.object({ user }), result: Words },
  'vocabulary.add': { args: z.object({ user, words }), result: Words },
  'vocabulary.remove': { args: z.object({ user, words }), result: Words },
};
type Args<C extends keyof typeof vocabularyShapes> = z.output<(typeof vocabularyShapes)[C]['args']>;

export interface VocabularyServices {
  users: Pick<Users, 'byName'>;
  vocabularies: Vocabularies;
}

export function vocabularyCommands({ users, vocabularies }: VocabularyServices) {
  const idOf = async (name: string) => (await users.byName(name)).id;
  return {
    'vocabulary.list': async ({ user }: Args<'vocabulary.list'>) => ({
      words: await vocabularies.words(await idOf(user)),
    }),
    'vocabulary.add': async ({ user, words }: Args<'vocabulary.add'>) => ({
      words: await vocabularies.add(await idOf(user), words),
    }),
    'vocabulary.remove': async ({ user, words }: Args<'vocabulary.remove'>) => ({
      words: await vocabularies.remove(await idOf(user), words),
    }),
  };
}
