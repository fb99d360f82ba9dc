import { z } from 'zod';
import { MAX_WORD_CHARS, MAX_WORDS, type Vocabularies } from '../../domain/accounts/vocabulary.ts';
import { name } from '../fields.ts';
import { type Route, route } from '../route.ts';

const PATH = '/v1/users/vocabulary';

const VocabularyJson = z.object({ words: z.array(z.string()) }).meta({ id: 'Vocabulary' });

const VocabularyBody = z
  .object({
    words: z
      .array(name({ max: MAX_WORD_CHARS }))
      .max(MAX_WORDS)
      .describe('Names and words in their spelling; of two that differ only by case, the first counts'),
  })
  .meta({ id: 'VocabularyEdit', override: { examples: [{ words: ['Earshot', 'Dr. Okonkwo'] }] } });

/** Words that recognisers should expect, in addition to names of people. */
export function vocabularyRoutes(vocabularies: Vocabularies): Route[] {
  const common = {
    tag: 'People',
    credential: 'idToken',
    path: PATH,
    params: z.object({}),
    query: z.object({}),
    response: VocabularyJson,
  } as const;
  return [
    route({
      ...common,
      method: 'get',
      id: 'getVocabulary',
      summary: 'Get the words that recognisers should expect, beside the names of people',
      handle: async ({ principal: { user } }) => ({ words: await vocabularies.words(user.id) }),
    }),
    route({
      ...common,
      method: 'put',
      id: 'putVocabulary',
      summary: 'Replace the words that recognisers should expect',
      errors: ['conflict'],
      body: VocabularyBody,
      handle: async ({ principal: { user }, body }) => ({
        words: await vocabularies.put(user.id, body.words),
      }),
    }),
  ];
}
