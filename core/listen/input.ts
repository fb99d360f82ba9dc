import type { Message } from './inbox.ts';
import { ClientMessage, KEEP_ALIVE_BYTES } from './protocol.ts';

/** One message of a client, as what it asks for. Audio and what moves its clock come in the order they were sent. */
export type Input =
  | { type: 'audio'; bytes: Buffer }
  /** Audio paused: what was said before is not waiting for more. */
  | { type: 'quiet' }
  | { type: 'keep_alive' }
  | ClientMessage
  /** Newer clients may say more than we know; that is no error. */
  | { type: 'unknown' }
  | { type: 'invalid' };

export function inputOf(message: Message | 'quiet'): Input {
  if (message === 'quiet') return { type: 'quiet' };
  const { binary, bytes } = message;
  if (!binary) return parseText(bytes);
  return bytes.length > KEEP_ALIVE_BYTES ? { type: 'audio', bytes } : { type: 'keep_alive' };
}

function parseText(bytes: Buffer): Input {
  const json = parseJson(bytes);
  const message = ClientMessage.safeParse(json);
  if (message.success) return message.data;
  return { type: hasUnknownType(json) ? 'unknown' : 'invalid' };
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

const KNOWN_TYPES: ReadonlySet<unknown> = new Set(
  ClientMessage.options.map(option => option.shape.type.value),
);

function hasUnknownType(json: unknown): boolean {
  if (typeof json !== 'object' || json === null || !('type' in json)) return false;
  return typeof json.type === 'string' && !KNOWN_TYPES.has(json.type);
}
