/** Chat with the server: its stored messages, and answers as they stream in. */
import { ApiError, api, request } from './session.ts';
import { language } from './texts.ts';

export interface Source {
  type: 'conversation' | 'memory' | 'action_item';
  id: string;
  title: string;
  text: string;
  created_at: string;
  segment_id: string | null;
}

export interface Message {
  id: string;
  sender: 'human' | 'ai';
  text: string;
  model: string | null;
  sources: Source[];
  chat_session_id: string | null;
}

export interface Session {
  id: string;
  title: string;
  updated_at: string;
}

const MESSAGES = '/v2/messages';
const SHOWN = 100;

/** Oldest first. */
export async function messagesOf(session: string): Promise<Message[]> {
  const page = await api<Message[]>('GET', `${MESSAGES}?limit=${SHOWN}&${inSession(session)}`);
  return page.toReversed();
}

export const sessions = (): Promise<Session[]> => api('GET', '/v2/chat-sessions');
export const newSession = (): Promise<Session> => api('POST', '/v2/chat-sessions');
export const removeSession = (id: string): Promise<unknown> =>
  api('DELETE', `/v2/chat-sessions/${encodeURIComponent(id)}`);

function inSession(session: string): string {
  return `chat_session_id=${encodeURIComponent(session)}`;
}

/**
 * Sends a question and resolves to the whole answer.
 * @param onPiece called with each piece as it arrives
 */
export async function send(
  session: string,
  text: string,
  onPiece: (piece: string) => void,
  signal: AbortSignal,
): Promise<Message> {
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const question = { text, time_zone, language: language.value };
  const answer = await request('POST', `${MESSAGES}?${inSession(session)}`, question, { signal });
  if (!answer.ok || !answer.body) {
    const { detail } = (await answer.json().catch(() => ({}))) as { detail?: unknown };
    throw new ApiError(answer.status, typeof detail === 'string' ? detail : answer.statusText);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new ApiError(0, '');
    const frames = (held + value).split('\n\n');
    held = frames.pop() ?? '';
    for (const frame of frames) {
      const [, kind, content = ''] = /^(data|done|error): (.*)$/s.exec(frame) ?? [];
      if (kind === 'data') onPiece(content.replaceAll('__CRLF__', '\n'));
      if (kind === 'error') throw new ApiError(502, JSON.parse(content).message);
      if (kind === 'done') return JSON.parse(new TextDecoder().decode(bytesOf(content)));
    }
  }
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), char => char.charCodeAt(0));
}
