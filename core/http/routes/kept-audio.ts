import { z } from 'zod';
import type { KeptAudios } from '../../domain/speech/kept-audio.ts';
import { type Route, route, StoredFile } from '../route.ts';

const USUAL_LIMIT = 200;
const MAX_LIMIT = 1000;

const Audio = z
  .object({
    id: z.string(),
    started_at: z.iso.datetime(),
    seconds: z.number(),
    bytes: z.int(),
    has_text: z.boolean().describe('False: no recogniser could transcribe it'),
  })
  .meta({ id: 'KeptAudio' });

/** Listening to audio that is kept. */
export function keptAudioRoutes(audios: Pick<KeptAudios, 'list' | 'open'>): Route[] {
  return [
    route({
      method: 'get',
      id: 'listKeptAudio',
      path: '/v1/conversations/{conversation_id}/audio',
      tag: 'Conversations',
      summary:
        'List audio of a conversation, by its beginning: what no recogniser could transcribe, and with `keep_audio_days` all speech',
      credential: 'idToken',
      errors: ['not_found'],
      params: z.object({ conversation_id: z.string() }),
      query: z.object({
        since: z.iso
          .datetime({ offset: true })
          .optional()
          .describe('Audio that begins before it is left out'),
        limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(USUAL_LIMIT),
      }),
      response: z.array(Audio),
      async handle({ principal: { user }, params, query }) {
        const since = query.since === undefined ? 0 : Date.parse(query.since);
        const found = await audios.list(user.id, params.conversation_id, { since, limit: query.limit });
        return found.map(({ id, startedAt, seconds, bytes, hasText }) => ({
          id,
          seconds,
          bytes,
          started_at: new Date(startedAt).toISOString(),
          has_text: hasText,
        }));
      },
    }),
    route({
      method: 'get',
      id: 'getKeptAudio',
      path: '/v1/audio/{audio_id}',
      tag: 'Conversations',
      summary: 'Get such audio as Ogg with Opus, or as WAV if it has no text; or a part of it by `Range`',
      credential: 'idToken',
      errors: ['not_found'],
      params: z.object({ audio_id: z.string() }),
      query: z.object({}),
      response: z.string().meta({ format: 'binary' }),
      type: 'audio/*',
      isResumable: true,
      async handle({ principal: { user }, params }) {
        const id = params.audio_id;
        return new StoredFile({ ...(await audios.open(user.id, id)), version: id });
      },
    }),
  ];
}
