import { z } from 'zod';
import { OWNER } from '../../domain/conversations/corrections.ts';
import {
  MAX_RECORDED,
  type ShownSample,
  type SpeechProfile,
  type VoiceSamples,
} from '../../domain/speech/voice-samples.ts';
import type { SpeechProfiles } from '../../listen/recordings/speech-profile.ts';
import { type Route, route } from '../route.ts';
import { FILES, filesOf, RawAudio } from './audio-files.ts';

const PROFILE = '/v1/users/speech-profile';
const SAMPLES = '/v1/people/{person_id}/samples';
const MAX_BYTES = 50 * 1024 * 1024;

const SampleJson = z
  .object({
    id: z.string(),
    seconds: z.number().describe('Seconds of speech'),
    conversation_id: z
      .string()
      .nullable()
      .describe('Conversation that it comes from; null: it was recorded for this purpose'),
    speaker_id: z.int().nullable().describe('Speaker of that conversation'),
    is_usable: z
      .boolean()
      .describe('False: it was made by another speaker model, and the present one cannot use it'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'VoiceSample' });

const ProfileJson = z
  .object({
    has_profile: z.boolean().describe('Whether your voice is recognised in conversations'),
    seconds: z.number().describe('Seconds of speech that it is made from'),
    samples: z.array(SampleJson),
  })
  .meta({ id: 'SpeechProfile' });

const Done = z.object({ success: z.literal(true) });

/** The owner's own voice, and stored samples of other people's voices. */
export function speechProfileRoutes(profiles: SpeechProfiles, samples: VoiceSamples): Route[] {
  const own = { tag: 'Speech', credential: 'idToken', path: PROFILE, params: z.object({}) } as const;
  const ofPerson = {
    ...{ tag: 'People', credential: 'idToken' as const, query: z.object({}) },
    errors: ['not_found' as const],
  };
  const person = z.string().describe(`Of a person; \`${OWNER}\`: yourself`);
  return [
    route({
      ...own,
      method: 'get',
      id: 'getSpeechProfile',
      summary: 'Get your voice profile',
      query: z.object({}),
      response: ProfileJson,
      handle: async ({ principal: { user } }) => toJson(await profiles.get(user.id)),
    }),
    route({
      ...own,
      method: 'post',
      id: 'recordSpeechProfile',
      summary:
        'Upload a recording in which you alone speak for 8 s or more; it replaces an earlier one, and only its voice print is stored',
      errors: ['conflict'],
      policy: 'search',
      query: RawAudio,
      body: z.object({}),
      upload: { field: FILES, maxBytes: MAX_BYTES },
      response: ProfileJson,
      handle: async ({ principal: { user }, upload, query, signal }) =>
        toJson(await profiles.record(user.id, filesOf(upload, query), signal)),
    }),
    route({
      ...own,
      method: 'delete',
      id: 'deleteSpeechProfile',
      summary: 'Delete your voice profile, also voice prints from conversations',
      query: z.object({}),
      response: Done,
      async handle({ principal: { user } }) {
        await profiles.remove(user.id);
        return { success: true as const };
      },
    }),
    route({
      ...ofPerson,
      method: 'get',
      id: 'listVoiceSamples',
      path: SAMPLES,
      summary: 'List the voice samples of a person, oldest first, without the voice prints themselves',
      params: z.object({ person_id: person }),
      response: z.array(SampleJson),
      handle: async ({ principal: { user }, params }) =>
        (await samples.list(user.id, params.person_id)).map(sampleJson),
    }),
    route({
      ...ofPerson,
      method: 'post',
      id: 'recordVoiceSample',
      path: SAMPLES,
      summary: `Upload a recording in which a person alone speaks for 8 s or more; only its voice print is stored, at most ${MAX_RECORDED} of a person`,
      errors: ['not_found', 'conflict'],
      policy: 'search',
      params: z.object({ person_id: person }),
      query: RawAudio,
      body: z.object({}),
      upload: { field: FILES, maxBytes: MAX_BYTES },
      response: z.array(SampleJson),
      async handle({ principal: { user }, params, upload, query, signal }) {
        await profiles.recordPerson(user.id, params.person_id, filesOf(upload, query), signal);
        return (await samples.list(user.id, params.person_id)).map(sampleJson);
      },
    }),
    route({
      ...ofPerson,
      method: 'delete',
      id: 'deleteVoiceSample',
      path: '/v1/voice-samples/{sample_id}',
      summary: 'Delete a voice sample',
      params: z.object({ sample_id: z.string() }),
      response: Done,
      async handle({ principal: { user }, params }) {
        await samples.remove(user.id, params.sample_id);
        return { success: true as const };
      },
    }),
  ];
}

function toJson({ hasProfile, seconds, samples }: SpeechProfile): z.input<typeof ProfileJson> {
  return { has_profile: hasProfile, seconds: rounded(seconds), samples: samples.map(sampleJson) };
}

function sampleJson({
  id,
  seconds,
  conversationId,
  speakerId,
  isUsable,
  createdAt,
}: ShownSample): z.input<typeof SampleJson> {
  return {
    id,
    seconds: rounded(seconds),
    conversation_id: conversationId,
    speaker_id: speakerId,
    is_usable: isUsable,
    created_at: new Date(createdAt).toISOString(),
  };
}

function rounded(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}
