import { z } from 'zod';
import { OWNER } from '../../domain/conversations/corrections.ts';
import type { ShownSample, SpeechProfile, VoiceSamples } from '../../domain/speech/voice-samples.ts';
import type { SpeechProfiles } from '../../recordings/speech-profile.ts';
import { type Route, route } from '../route.ts';
import { FILES, filesOf, RawAudio } from './audio-files.ts';

const PROFILE = '/v1/users/speech-profile';
const SAMPLES = '/v1/people/{person_id}/samples';
const MiB = 1024 * 1024;

const SampleJson = z
  .object({
    id: z.string(),
    seconds: z.number().describe('Of speech'),
    conversation_id: z.string().nullable().describe('Where it was heard; null: it was recorded for this'),
    is_usable: z
      .boolean()
      .describe('false: another speaker model made it; it says nothing to the one that works now'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'VoiceSample' });

const ProfileJson = z
  .object({
    has_profile: z.boolean().describe('Your voice is looked for in what is said'),
    seconds: z.number().describe('Of speech that it rests on'),
    samples: z.array(SampleJson),
  })
  .meta({ id: 'SpeechProfile' });

const Done = z.object({ success: z.literal(true) });

/** The owner's own voice, and what is known of the voices of others. */
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
      summary: 'Get what is known of your own voice',
      query: z.object({}),
      response: ProfileJson,
      handle: async ({ principal: { user } }) => toJson(await profiles.get(user.id)),
    }),
    route({
      ...own,
      method: 'post',
      id: 'recordSpeechProfile',
      summary:
        'Send a recording in which you alone speak for 8 s or more; it takes the place of the one before, and only a voice print of it is kept',
      errors: ['conflict'],
      policy: 'search',
      query: RawAudio,
      body: z.object({}),
      upload: { field: FILES, maxBytes: 50 * MiB },
      response: ProfileJson,
      handle: async ({ principal: { user }, upload, query, signal }) =>
        toJson(await profiles.record(user.id, filesOf(upload, query), signal)),
    }),
    route({
      ...own,
      method: 'delete',
      id: 'deleteSpeechProfile',
      summary: 'Forget your own voice, also as it was heard in conversations',
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
      summary:
        'List what a person’s voice is known by, oldest first; the voice prints themselves are not shown',
      params: z.object({ person_id: person }),
      response: z.array(SampleJson),
      handle: async ({ principal: { user }, params }) =>
        (await samples.list(user.id, params.person_id)).map(sampleJson),
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
  isUsable,
  createdAt,
}: ShownSample): z.input<typeof SampleJson> {
  return {
    id,
    seconds: rounded(seconds),
    conversation_id: conversationId,
    is_usable: isUsable,
    created_at: new Date(createdAt).toISOString(),
  };
}

function rounded(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}
