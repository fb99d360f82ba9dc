import { z } from 'zod';
import type { KeptAudios } from '../../domain/speech/kept-audio.ts';
import { type Route, route, StoredFile } from '../route.ts';

const Audio = z
  .object({
    id: z.string(),
    started_at: z.iso.datetime(),
    seconds: z.number(),
    bytes: z.int(),
  })
  .meta({ id: 'KeptAudio' });

/** Listening to speech that no recogniser could transcribe. */
export function keptAudioRoutes(audios: Pick<KeptAudios, 'list' | 'open'>): Route[] {
  return [
    route({
      method: 'get',
      id: 'listKeptAudio',
      path: '/v1/conversations/{conversation_id}/audio',
      tag: 'Conversations',
      summary:
        'List audio of a conversation that no recogniser could transcribe; all other audio is deleted once it is text',
      credential: 'idToken',
      errors: ['not_found'],
      params: z.object({ conversation_id: z.string() }),
      query: z.object({}),
      response: z.array(Audio),
      async handle({ principal: { user }, params }) {
        return (await audios.list(user.id, params.conversation_id)).map(
          ({ id, startedAt, seconds, bytes }) => ({
            ...{ id, seconds, bytes },
            started_at: new Date(startedAt).toISOString(),
          }),
        );
      },
    }),
    route({
      method: 'get',
      id: 'getKeptAudio',
      path: '/v1/audio/{audio_id}',
      tag: 'Conversations',
      summary: 'Get such audio as WAV, or a part of it by `Range`',
      credential: 'idToken',
      errors: ['not_found'],
      params: z.object({ audio_id: z.string() }),
      query: z.object({}),
      response: z.string().meta({ format: 'binary' }),
      type: 'audio/wav',
      isResumable: true,
      async handle({ principal: { user }, params }) {
        const id = params.audio_id;
        return new StoredFile({ ...(await audios.open(user.id, id)), version: id, fileName: `${id}.wav` });
      },
    }),
  ];
}
