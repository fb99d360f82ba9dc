import { z } from 'zod';
import type { Recording } from '../../contract/model.ts';
import {
  MAX_RECORDING_BYTES,
  type NewRecording,
  type Recordings,
} from '../../domain/recordings/recordings.ts';
import { AppError } from '../../runtime/errors.ts';
import { instant, integer, integerWithin, word } from '../query.ts';
import { type Route, route } from '../route.ts';
import { FILES, filesOf, RawAudio } from './audio-files.ts';

const LIST = '/v1/recordings';
const ONE = '/v1/recordings/{recording_id}';
const MAX_LIMIT = 1000;

const RecordingJson = z
  .object({
    id: z.string(),
    name: z.string().describe('Name of the file'),
    state: z.enum(['waiting', 'running', 'done', 'failed']),
    progress: z.number().describe('0 to 1'),
    error: z
      .string()
      .nullable()
      .describe('Error message; of a finished one: the part that could not be read'),
    started_at: z.iso.datetime().nullable().describe('Time of its first sample; null: not known yet'),
    duration_seconds: z.number().nullable().describe('null: not measured yet'),
    conversation_ids: z
      .array(z.string())
      .describe('Conversations in spoken order, which may be deleted by now'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Recording' });

const Query = RawAudio.extend({
  started_at: instant('start').describe(
    'Time of the first sample, for a single file; absent: from its name, else it has just ended',
  ),
  language: word().describe('A code such as en, or multi; absent: detected, if the recogniser can'),
  source: word().describe('Source of the conversations, as in `/v4/listen`'),
  silence: integerWithin({ from: 2, to: 14_400, absent: 120 }).describe(
    'Seconds of silence after which another conversation begins',
  ),
});

/** Uploaded recordings of hours, which become conversations in the background. */
export function recordingRoutes(recordings: Recordings): Route[] {
  const common = { tag: 'Recordings', credential: 'idToken' } as const;
  const one = z.object({ recording_id: z.string() });
  return [
    route({
      ...common,
      method: 'post',
      id: 'importAudio',
      path: '/v1/conversations/from-audio',
      summary:
        'Upload recordings of any length; they become conversations, split at long pauses, at their original times',
      errors: ['conflict'],
      policy: 'batch',
      params: z.object({}),
      query: Query,
      body: z.object({}),
      upload: { field: FILES, maxBytes: MAX_RECORDING_BYTES },
      response: z.array(RecordingJson),
      async handle({ principal: { user }, upload, query }) {
        const { started_at: startedAt, language, source, silence } = query;
        const files = filesOf(upload, query);
        if (files.length === 0)
          throw refused('files', 'There is no recording: send it as the field files, or as the body');
        if (files.length > 1 && startedAt !== undefined)
          throw refused('started_at', 'Input should come with one file alone');
        const about: Partial<NewRecording> = { startedAt, language, source, silenceMs: silence * 1000 };
        const added: Recording[] = [];
        for (const { path, name } of files)
          added.push(await recordings.add(user.id, { path, isTemporary: true, name, ...about }));
        return added.map(toJson);
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'listRecordings',
      path: LIST,
      summary: 'List recordings, newest first; finished ones for 30 days',
      params: z.object({}),
      query: z.object({
        limit: integer({ from: 1, to: MAX_LIMIT, absent: 100 }),
        offset: integer({ from: 0, absent: 0 }),
      }),
      response: z.array(RecordingJson),
      handle: async ({ principal: { user }, query }) => (await recordings.list(user.id, query)).map(toJson),
    }),
    route({
      ...common,
      method: 'get',
      id: 'getRecording',
      path: ONE,
      summary: 'Get a recording with its progress',
      errors: ['not_found'],
      params: one,
      query: z.object({}),
      response: RecordingJson,
      handle: async ({ principal: { user }, params }) =>
        toJson(await recordings.get(user.id, params.recording_id)),
    }),
    route({
      ...common,
      method: 'delete',
      id: 'deleteRecording',
      path: ONE,
      summary: 'Cancel a recording and delete its file; its conversations stay',
      errors: ['not_found'],
      params: one,
      query: z.object({}),
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await recordings.remove(user.id, params.recording_id);
        return { success: true as const };
      },
    }),
  ];
}

function toJson(recording: Recording): z.input<typeof RecordingJson> {
  const { id, name, state, error, startedAt, durationMs, heardMs, conversationIds, createdAt } = recording;
  return {
    id,
    name,
    state,
    error,
    conversation_ids: conversationIds,
    progress: state === 'done' ? 1 : durationMs ? Math.round((1000 * heardMs) / durationMs) / 1000 : 0,
    started_at: startedAt === null ? null : new Date(startedAt).toISOString(),
    duration_seconds: durationMs === null ? null : durationMs / 1000,
    created_at: new Date(createdAt).toISOString(),
  };
}

function refused(field: string, msg: string): AppError {
  return new AppError('invalid_request', msg, {
    issues: [{ loc: ['body', field], msg, type: 'value_error' }],
  });
}
