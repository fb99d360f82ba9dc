import { ClientMessage, KEEP_ALIVE_BYTES, MAX_SUGGESTED } from '../protocol.ts';
import type { Message } from './inbox.ts';
import { firstProblem } from './parameters.ts';

/** Parsed message of a client. Audio and messages that move its clock keep the order in which they were sent. */
export type Input =
  | { type: 'audio'; bytes: Buffer }
  /** Audio paused: earlier speech does not wait for more. */
  | { type: 'quiet' }
  | { type: 'keep_alive' }
  | ClientMessage
  /** A newer client may send it; not an error. */
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

/** Checked before the schema, which would look at each of them: 1 MiB of braces holds 350,000. */
function hasTooMany(json: unknown): boolean {
  const segments = typeof json === 'object' && json !== null && 'segments' in json ? json.segments : null;
  return Array.isArray(segments) && segments.length > MAX_SUGGESTED;
}
