import { z } from 'zod';
import type { Inbox } from './inbox.ts';

const AUTH_WAIT_MS = 5000;
const Auth = z.object({ type: z.literal('auth'), token: z.string() });

/**
 * Reads the credential from the client's first message. Null: it contains none, or came too late.
 * @param signal ends the wait
 */
export async function firstToken(inbox: Inbox, signal: AbortSignal): Promise<string | null> {
  const timer = setTimeout(inbox.clear, AUTH_WAIT_MS);
  signal.addEventListener('abort', inbox.clear);
  try {
    const first = await inbox[Symbol.asyncIterator]().next();
    return first.done || first.value === 'quiet' ? null : tokenOf(first.value.bytes);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', inbox.clear);
  }
}

function tokenOf(bytes: Buffer): string | null {
  try {
    return Auth.parse(JSON.parse(bytes.toString('utf8'))).token;
  } catch {
    return null;
  }
}
