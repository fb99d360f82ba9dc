import type { Plugin, WebhookAnswer } from '../../core/plugin.ts';

/** Of a message or a prompt; the interface has it so. */
const MIN_CHARACTERS = 5;
/** Of a message: as much as a notification holds. */
const MAX_MESSAGE = 4000;
const MAX_PROMPT = 10_000;
const MAX_PARAMS = 20;

export default {
  name: 'transcript-processed',
  api: 1,
  title: 'Webhook transcript_processed: what is being said, and what the receiver wants to say about it',
  setup: () => ({
    webhook: {
      type: 'transcript_processed',
      aliases: ['realtime_transcript'],
      trigger: 'segments',
      render(event) {
        if (event.trigger !== 'segments' || event.segments.length === 0) return null;
        const { conversationId, userId } = event;
        const segments = event.segments.map(
          ({ id, text, speaker, speakerId, isUser, personId, start, end }) => ({
            ...{ id, text, speaker, speaker_id: speakerId },
            ...{ is_user: isUser, person_id: personId, start, end },
          }),
        );
        return {
          query: { session_id: conversationId, uid: userId },
          contentType: 'application/json',
          body: JSON.stringify({ session_id: conversationId, segments }),
        };
      },
      answer: readAnswer,
    },
  }),
} satisfies Plugin;

/** `{message}`, or `{notification: {prompt, params, context?}}`; whatever else may be in it, or stand there instead. */
function readAnswer(json: unknown): WebhookAnswer | null {
  const message = textOf(fieldOf(json, 'message'));
  if (message !== '') {
    if (isShort(message)) return { ignored: `its message has fewer than ${MIN_CHARACTERS} characters` };
    return { message: cut(message, MAX_MESSAGE) };
  }
  const notification = fieldOf(json, 'notification');
  if (notification === undefined || notification === null) return null;
  const prompt = textOf(fieldOf(notification, 'prompt'));
  if (isShort(prompt)) return { ignored: `its prompt has fewer than ${MIN_CHARACTERS} characters` };
  if (prompt.length > MAX_PROMPT) return { ignored: `its prompt has more than ${MAX_PROMPT} characters` };
  return { prompt, params: paramsOf(notification), context: contextOf(notification) };
}

function paramsOf(notification: unknown): string[] {
  const params = fieldOf(notification, 'params');
  const names = Array.isArray(params) ? params.slice(0, MAX_PARAMS).map(textOf) : [];
  return [...new Set(names.filter(name => name !== ''))];
}

function contextOf(notification: unknown): Record<string, unknown> | null {
  const context = fieldOf(notification, 'context');
  return isRecord(context) ? context : null;
}

function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** '' for what is no text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

function isShort(text: string): boolean {
  return [...text.slice(0, 2 * MIN_CHARACTERS)].length < MIN_CHARACTERS;
}

/** At most so many characters, none of them halved. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
