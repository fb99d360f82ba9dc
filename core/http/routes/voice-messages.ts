import { z } from 'zod';
import { requireScope } from '../../domain/accounts/credentials.ts';
import type { Chat, ShownMessage } from '../../domain/ask/chat.ts';
import { newId } from '../../domain/ids.ts';
import type { VoiceMessages } from '../../listen/recordings/voice-messages.ts';
import { type AppError, ERRORS, outcomeOf } from '../../runtime/errors.ts';
import { answerStream, type Frames } from '../answer-stream.ts';
import type { Failure } from '../failure.ts';
import { MAX_CODE_CHARS } from '../fields.ts';
import { word } from '../query.ts';
import { type FailureForm, type Route, route } from '../route.ts';
import { MAX_QUESTION_CHARS } from './ask.ts';
import { FILES, filesOf, RawAudio } from './audio-files.ts';
import { FRAMES } from './messages.ts';

const MiB = 1024 * 1024;
/** Files in the form field `files`, or the body itself. */
const UPLOAD = { field: FILES, maxBytes: 50 * MiB };

const Query = RawAudio.extend({
  language: word().describe('Language: a code such as en, or multi; absent: detected, if the recogniser can'),
});

const Fields = z.object({
  language: z.string().max(MAX_CODE_CHARS).optional().describe('Same as in the query'),
});

const TranscriptJson = z
  .object({
    outcome: z.enum(['success', 'expected_silence']),
    transcript: z.string().describe('Transcript of all files, one after the other; empty for silence'),
    stt_provider: z.string().nullable().describe('Recogniser'),
    stt_model: z.string().nullable(),
    language: z.string().describe('Detected or requested language'),
  })
  .meta({ id: 'VoiceTranscript' });

const FailureJson = z
  .object({
    error: z.string(),
    outcome: z.enum(['empty_unexpected', 'timeout', 'upstream_error', 'config_error', 'invalid_input']),
    provider: z.string().nullable().describe('Recogniser that failed, if known'),
    retryable: z.boolean(),
    message: z.string().describe('Message for people'),
  })
  .meta({ id: 'TranscriptionFailure' });

/** HTTP status by outcome. */
const ERROR_NAMES = {
  empty_unexpected: 'stt_empty_unexpected',
  timeout: 'stt_timeout',
  upstream_error: 'stt_upstream_error',
  config_error: 'stt_provider_configuration_error',
  invalid_input: 'stt_invalid_input',
} as const;
/** Errors that mean that a request violates the rules of the route. */
const INVALID: ReadonlySet<AppError['code']> = new Set([
  'invalid_request',
  'unsupported_media',
  'too_slow',
  'invalid_input',
  'forbidden',
  'not_found',
]);
/** An invalid credential and a body that is too large are reported as on all routes. */
const USUAL: ReadonlySet<number> = new Set([401, 403, 413]);

/** Builds the failure body of both routes. */
function failureObject(error: AppError): z.output<typeof FailureJson> {
  const outcome = INVALID.has(error.code) ? 'invalid_input' : outcomeOf(error);
  const message = error.issues?.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ');
  return {
    error: ERROR_NAMES[outcome],
    outcome,
    provider: typeof error.detail?.provider === 'string' ? error.detail.provider : null,
    retryable: ERRORS[outcome].retryable,
    message: error.expose ? (message ?? error.message) : 'The server failed',
  };
}

/** Checks that precede recognition. */
const REFUSALS = {
  400: 'The request is not as it should be',
  429: 'Too often, or too many at once',
  502: 'The server failed',
};

const FAILURE: FailureForm = {
  schema: FailureJson,
  statuses: {
    ...REFUSALS,
    400: 'The audio cannot be decoded, or the request is not as it should be',
    502: 'The recogniser failed, or understood nothing of what somebody says',
    503: 'No recogniser works, or none has the language',
    504: 'The recogniser took too long',
  },
  answer(error, usual): Failure {
    if (USUAL.has(usual.status)) return usual;
    const body = failureObject(error);
    const status = error.code === 'rate_limited' ? usual.status : ERRORS[body.outcome].status;
    return { status, headers: usual.headers, body };
  },
};

/** Recordings that clients send to have them transcribed. */
export function voiceMessageRoutes(voiceMessages: VoiceMessages, chat: Pick<Chat, 'send'>): Route[] {
  return [
    route({
      method: 'post',
      id: 'sendVoiceMessage',
      path: '/v2/voice-messages',
      tag: 'Voice messages',
      summary:
        'Ask a spoken question and stream the answer: frames `message: <the question as JSON in base64>`, `data: <text>`, `done: <the answer as JSON in base64>`, or `error: <JSON>`; silence gives an empty stream',
      scope: 'listen',
      policy: 'search',
      params: z.object({}),
      query: Query.extend({
        chat_session_id: word().describe('Id of the chat session; absent: the one used last'),
      }),
      body: Fields,
      upload: UPLOAD,
      failure: { ...FAILURE, statuses: REFUSALS },
      response: z.string(),
      type: 'text/event-stream',
      async handle({ principal, query, body, upload }) {
        const files = filesOf(upload, query);
        const language = body.language?.trim() || query.language || null;
        voiceMessages.check(files, language);
        const sessionId = query.chat_session_id ?? null;
        return answerStream(VOICE_FRAMES, async following => {
          following.begin();
          requireScope(principal, 'conversations:read');
          const { user } = principal;
          const heard = await voiceMessages.transcribe(user.id, files, language, following.signal);
          if (heard.outcome === 'expected_silence') return null;
          const text = [...heard.transcript].slice(0, MAX_QUESTION_CHARS).join('');
          following.say(`message: ${base64(questionJson(text))}\n\n`);
          const say = (piece: string) => following.say(FRAMES.piece(piece));
          return chat.send(principal, { text, sessionId, timeZone: null }, { ...following, say });
        });
      },
    }),
    route({
      method: 'post',
      id: 'transcribeVoiceMessage',
      path: '/v2/voice-message/transcribe',
      tag: 'Voice messages',
      summary: 'Transcribe a recording; nothing is stored',
      scope: 'listen',
      params: z.object({}),
      query: Query,
      body: Fields,
      upload: UPLOAD,
      failure: FAILURE,
      response: TranscriptJson,
      async handle({ principal, query, body, upload, signal }) {
        const heard = await voiceMessages.transcribe(
          principal.user.id,
          filesOf(upload, query),
          body.language?.trim() || query.language || null,
          signal,
        );
        const { outcome, transcript, sttProvider, sttModel, language } = heard;
        return { outcome, transcript, stt_provider: sttProvider, stt_model: sttModel, language };
      },
    }),
  ];
}

/** Frames of a voice message. The message is one whole frame; null: nobody spoke. */
const VOICE_FRAMES: Frames<ShownMessage | null> = {
  piece: frame => frame,
  done: message => (message === null ? '' : FRAMES.done(message)),
  failed: error => `error: ${JSON.stringify(failureObject(error))}\n\n`,
};

function questionJson(text: string) {
  const now = new Date();
  return { id: newId(now.getTime()), created_at: now.toISOString(), text, sender: 'human', type: 'text' };
}

function base64(json: object): string {
  return Buffer.from(JSON.stringify(json)).toString('base64');
}
