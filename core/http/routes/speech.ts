import { z } from 'zod';
import type { SpeechSettings } from '../../contract/model.ts';
import { LANGUAGE_RULE, languageOf, MULTI } from '../../domain/languages.ts';
import type { SpeechChoices } from '../../domain/speech/speech-settings.ts';
import { MAX_CODE_CHARS, someOf } from '../fields.ts';
import { type Route, route } from '../route.ts';

const SETTINGS = '/v1/users/speech-settings';

const language = z
  .string()
  .max(MAX_CODE_CHARS)
  .transform((given, context) => {
    const code = languageOf(given.trim());
    if (code !== null && code !== MULTI) return code;
    const message = `Input should be ${LANGUAGE_RULE}`;
    context.addIssue({ code: 'custom', message, params: { type: 'value_error' } });
    return z.NEVER;
  })
  .meta({ examples: ['de'] });

const MAX_AUDIO_DAYS = 36_500;

const SettingsJson = z
  .object({
    translate_to: z.string().nullable().describe('Language into which other languages are translated'),
    label_voices: z.boolean().describe('Whether voices are distinguished, if the operator has set that up'),
    keep_audio_days: z
      .int()
      .nullable()
      .describe('Days for which audio is kept after it became text; null: it is deleted at once'),
  })
  .meta({ id: 'SpeechSettings' });

const SettingsEdit = someOf({
  translate_to: language.nullable().exactOptional().describe('Null: no translation'),
  label_voices: z
    .boolean()
    .exactOptional()
    .describe('False: voices are no longer distinguished, and all your voice prints are deleted'),
  keep_audio_days: z
    .int()
    .min(1)
    .max(MAX_AUDIO_DAYS)
    .nullable()
    .exactOptional()
    .describe('Null: audio is no longer kept, and all that was kept is deleted'),
}).meta({ id: 'SpeechSettingsEdit', override: { examples: [{ translate_to: 'de' }] } });

/** Settings for speech beyond its transcription. */
export function speechRoutes(settings: SpeechChoices): Route[] {
  const own = { tag: 'Speech', credential: 'idToken', query: z.object({}), params: z.object({}) } as const;
  return [
    route({
      ...own,
      method: 'get',
      id: 'getSpeechSettings',
      path: SETTINGS,
      summary: 'Get the speech settings',
      response: SettingsJson,
      handle: async ({ principal: { user } }) => toJson(await settings.get(user.id)),
    }),
    route({
      ...own,
      method: 'patch',
      id: 'updateSpeechSettings',
      path: SETTINGS,
      summary: 'Change the speech settings for future speech',
      body: SettingsEdit,
      response: SettingsJson,
      handle: async ({ principal: { user }, body }) => {
        const { translate_to: translateTo, label_voices: labelVoices, keep_audio_days: keepAudioDays } = body;
        const changes = {
          ...(translateTo === undefined ? {} : { translateTo }),
          ...(labelVoices === undefined ? {} : { labelVoices }),
          ...(keepAudioDays === undefined ? {} : { keepAudioDays }),
        };
        return toJson(await settings.change(user.id, changes));
      },
    }),
  ];
}

function toJson({ translateTo, labelVoices, keepAudioDays }: SpeechSettings): z.input<typeof SettingsJson> {
  return { translate_to: translateTo, label_voices: labelVoices, keep_audio_days: keepAudioDays };
}
