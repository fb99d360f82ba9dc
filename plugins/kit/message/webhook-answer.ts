/** Parses the response of a webhook's receiver, which may request a notification. */
import type { WebhookAnswer } from '../../../core/contract/plugin.ts';
import { isRecord } from '../json.ts';

/** Minimum length of a message or prompt. */
const MIN_CHARACTERS = 5;
/** Maximum length of a message: that of a notification. */
const MAX_MESSAGE = 4000;
const MAX_PROMPT = 10_000;
const MAX_PARAMS = 20;

/** Accepts `{message}` and `{notification: {prompt, params, context?}}`; anything else requests nothing. */
export function readAnswer(json: unknown): WebhookAnswer | null {
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

/** Returns '' for anything but a string. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

function isShort(text: string): boolean {
  return [...text.slice(0, 2 * MIN_CHARACTERS)].length < MIN_CHARACTERS;
}

/** Cuts text to a maximum length without dividing a character. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
