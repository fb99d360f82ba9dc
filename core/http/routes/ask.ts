import { z } from 'zod';
import type { Answer, Ask } from '../../domain/ask/ask.ts';
import { SOURCE_TYPES, type Source } from '../../domain/ask/sources.ts';
import { isTimeZone } from '../../domain/wall-clock.ts';
import { answerStream, type Frames } from '../answer-stream.ts';
import { MAX_CODE_CHARS, optional, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const PATH = '/v1/dev/user/ask';
export const MAX_QUESTION_CHARS = 1000;

export const timeZone = z
  .string()
  .max(MAX_CODE_CHARS)
  .trim()
  .refine(isTimeZone, {
    message: 'Input should be an IANA time zone, such as Europe/Berlin',
    params: { type: 'value_error' },
  });

/** Any code is taken: clients send what their system calls its language. */
export const readerLanguage = optional(z.string().max(MAX_CODE_CHARS), null).describe(
  'Language code of the reader, such as de, for an answer without a model to a question whose own language is unclear; absent: English',
);

const Question = z
  .object({
    question: text({ max: MAX_QUESTION_CHARS }),
    time_zone: optional(timeZone, null).describe(
      'Time zone for words such as yesterday; absent: the one of your notifications',
    ),
    timezone: optional(timeZone, null).describe('Alias of time_zone'),
    language: readerLanguage,
  })
  .meta({ id: 'Question', override: { examples: [{ question: 'When does the train leave?' }] } });

export const SourceJson = z
  .object({
    type: z.enum(SOURCE_TYPES),
    id: z.string(),
    title: z.string().describe('Title; for a memory or an action item, the beginning of its text'),
    text: z.string().describe('A passage of the conversation, the memory, or the action item'),
    created_at: z.iso.datetime().describe('Time at which it was said or noted'),
    segment_id: z.string().nullable().describe('Segment of a conversation; null: the whole conversation'),
  })
  .meta({ id: 'AnswerSource' });

const AnswerJson = z
  .object({
    answer: z.string(),
    model: z
      .string()
      .nullable()
      .describe('Language model that wrote it; null: none, and the answer says why'),
    sources: z
      .array(SourceJson)
      .describe('Sources that the model used, or the best matches; [1] in an answer is the first of them'),
  })
  .meta({ id: 'Answer' });

const FRAMES: Frames<Answer> = {
  piece: text => frame('text', { text }),
  done: answer => frame('done', answerJson(answer)),
  failed: (_, detail) => frame('error', { detail }),
};

function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

export function askRoutes({ ask }: Ask): Route[] {
  const common = {
    method: 'post',
    tag: 'Ask',
    scope: 'conversations:read',
    policy: 'search',
    params: z.object({}),
    query: z.object({}),
    body: Question,
  } as const;
  const questionOf = (body: z.output<typeof Question>) => ({
    text: body.question,
    timeZone: body.time_zone ?? body.timezone,
    language: body.language,
  });
  return [
    route({
      ...common,
      id: 'ask',
      path: PATH,
      summary:
        'Answer a question from conversations, and from memories and action items where the key may read them',
      response: AnswerJson,
      handle: async ({ principal, body }) => answerJson(await ask(principal, questionOf(body))),
    }),
    route({
      ...common,
      id: 'askStreaming',
      path: `${PATH}/stream`,
      summary:
        'Stream an answer as server-sent events: `text` for each piece, then `done` with all of it, or `error`',
      response: z.string(),
      type: 'text/event-stream',
      handle: ({ principal, body }) =>
        answerStream(FRAMES, following => ask(principal, questionOf(body), following)),
    }),
  ];
}

function answerJson({ answer, model, sources }: Answer): z.input<typeof AnswerJson> {
  return { answer, model, sources: sources.map(sourceJson) };
}

export function sourceJson({ createdAt, segmentId, ...source }: Source): z.input<typeof SourceJson> {
  return { ...source, created_at: new Date(createdAt).toISOString(), segment_id: segmentId };
}
