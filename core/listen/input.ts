import type { Message } from './inbox.ts';
import { firstProblem } from './parameters.ts';
import { ClientMessage, KEEP_ALIVE_BYTES, MAX_SUGGESTED } from './protocol.ts';

/** One message of a client, as what it asks for. Audio and what moves its clock come in the order they were sent. */
export type Input =
  | { type: 'audio'; bytes: Buffer }
  /** Audio paused: what was said before is not waiting for more. */
  | { type: 'quiet' }
  | { type: 'keep_alive' }
  | ClientMessage
  /** Newer clients may say more than we know; that is no error. */
  | { type: 'unknown' }
  | { type: 'invalid'; reason: string };

export function inputOf(message: Message | 'quiet'): Input {
  if (message === 'quiet') return { type: 'quiet' };
  const { binary, bytes } = message;
  if (!binary) return parseText(bytes);
  return bytes.length > KEEP_ALIVE_BYTES ? { type: 'audio', bytes } : { type: 'keep_alive' };
}

function parseText(bytes: Buffer): Input {
  const json = parseJson(bytes);
  if (json === undefined) return { type: 'invalid', reason: 'This is not JSON' };
  const type = typeOf(json);
  if (type === null) return { type: 'invalid', reason: 'A message is an object with a type' };
  if (!KNOWN_TYPES.has(type)) return { type: 'unknown' };
  if (hasTooMany(json)) return { type: 'invalid', reason: `segments: at most ${MAX_SUGGESTED}` };
  const message = ClientMessage.safeParse(json);
  return message.success ? message.data : { type: 'invalid', reason: firstProblem(message.error) };
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

const KNOWN_TYPES: ReadonlySet<string> = new Set(
  ClientMessage.options.map(option => option.shape.type.value),
);

function typeOf(json: unknown): string | null {
  if (typeof json !== 'object' || json === null || !('type' in json)) return null;
  return typeof json.type === 'string' ? json.type : null;
}

/** The schema would look at each of them first, and 1 MiB of braces has 350,000. */
function hasTooMany(json: unknown): boolean {
  const segments = typeof json === 'object' && json !== null && 'segments' in json ? json.segments : null;
  return Array.isArray(segments) && segments.length > MAX_SUGGESTED;
}
