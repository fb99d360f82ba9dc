import { z } from 'zod';
import type { Ask } from '../../domain/search/ask.ts';
import { isTimeZone } from '../../domain/wall-clock.ts';
import { MAX_CODE_CHARS, optional, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const MAX_QUESTION_CHARS = 1000;

const timeZone = z
  .string()
  .max(MAX_CODE_CHARS)
  .trim()
  .refine(isTimeZone, {
    message: 'Input should be an IANA time zone, such as Europe/Berlin',
    params: { type: 'value_error' },
  });

const Question = z
  .object({
    question: text({ max: MAX_QUESTION_CHARS }),
    time_zone: optional(timeZone, null).describe(
      'In which the question is asked, for words such as yesterday; left out: that of your notifications',
    ),
    timezone: optional(timeZone, null).describe('As time_zone'),
  })
  .meta({ id: 'Question', override: { examples: [{ question: 'When does the train leave?' }] } });

const AnswerJson = z
  .object({
    answer: z.string(),
    model: z
      .string()
      .nullable()
      .describe('The language model that made it; null: none did, and the answer says why'),
    sources: z
      .array(
        z.object({
          type: z.enum(['conversation', 'memory']),
          id: z.string(),
          title: z.string().describe('Of a memory: how it begins'),
          text: z.string().describe('A passage of the conversation, or the memory'),
          created_at: z.iso.datetime().describe('When it was said, or noted'),
        }),
      )
      .describe('What the model used; without one, what fits best'),
  })
  .meta({ id: 'Answer' });

export function askRoutes({ ask }: Ask): Route[] {
  return [
    route({
      method: 'post',
      id: 'ask',
      path: '/v1/dev/user/ask',
      tag: 'Ask',
      summary:
        'Answer a question from conversations, and from memories where the key may read them (memories:read and its grant)',
      scope: 'conversations:read',
      policy: 'search',
      params: z.object({}),
      query: z.object({}),
      body: Question,
      response: AnswerJson,
      async handle({ principal, body }) {
        const { answer, model, sources } = await ask(
          principal,
          body.question,
          body.time_zone ?? body.timezone,
        );
        return {
          answer,
          model,
          sources: sources.map(({ createdAt, ...source }) => ({
            ...source,
            created_at: new Date(createdAt).toISOString(),
          })),
        };
      },
    }),
  ];
}
