/** Subscribes to the server's live events and passes them to parts of the page. */
import { signal } from '@preact/signals';
import type { Segment } from './data.ts';
import { account, request } from './session.ts';

export interface FeedEvents {
  ready: {
    conversations: { conversation_id: string; status: string }[];
    devices: { device: string | null; source: string }[];
  };
  segments: { conversation_id: string; segments: Segment[] };
  conversation: { conversation_id: string; change: string };
  memory: { memory_id: string; change: string };
  action_item: { action_item_id: string; change: string };
  mark: { mark_id: string; conversation_id: string; at: string; change: 'created' | 'removed' };
  device: { device: string | null; source: string; connected: boolean };
  /** A wearable reported by a bridge has changed. */
  device_event: { device_id: string; kind: string };
  /** The server is reachable again, so failed loads can be retried. */
  back: null;
  /** Listening was paused, resumed or scheduled. */
  listening: { paused: boolean; until: string | null };
}
export type Kind = keyof FeedEvents;

/** Whether the server is reachable. */
export const connection = signal<'connecting' | 'open' | 'lost'>('connecting');

const MIN_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 15_000;
/** The server sends a heartbeat every 15 s. */
const SILENT_MS = 40_000;

const listeners = new Map<Kind, Set<(data: never) => void>>();

/** Returns a function that unsubscribes. */
export function on<K extends Kind>(kind: K, listener: (data: FeedEvents[K]) => void): () => void {
  const own = listeners.get(kind) ?? new Set();
  listeners.set(kind, own.add(listener));
  return () => own.delete(listener);
}

function tell(kind: Kind, data: unknown): void {
  for (const listener of listeners.get(kind) ?? []) listener(data as never); // events of this kind
}

/** Follows the stream while somebody is signed in, and reconnects when it is cut off. */
export async function follow(signal: AbortSignal): Promise<void> {
  let lastId = '';
  let pauseMs = MIN_PAUSE_MS;
  const opened = () => {
    const wasLost = connection.value === 'lost';
    connection.value = 'open';
    pauseMs = MIN_PAUSE_MS;
    if (wasLost) tell('back', null);
  };
  while (!signal.aborted && account.value) {
    try {
      for await (const { id, event, data } of eventsOf(lastId, signal, opened)) {
        lastId = id;
        tell(event, data);
      }
    } catch {
      // an error is handled like the end of the stream
    }
    if (signal.aborted) return;
    connection.value = 'lost';
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }
}

const hurried = new EventTarget();

/** Reconnects at once instead of after the pause. */
export function hurry(): void {
  hurried.dispatchEvent(new Event('online'));
}

/** Ends early when the network returns or a reconnect was requested. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer);
      for (const each of [window, hurried]) each.removeEventListener('online', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    for (const each of [window, hurried]) each.addEventListener('online', done);
    signal.addEventListener('abort', done, { once: true });
  });
}

/** @param opened called when the server has answered, as a live stream may have no events to send */
async function* eventsOf(lastId: string, signal: AbortSignal, opened: () => void) {
  const silent = new AbortController();
  let timer = 0;
  const heard = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => silent.abort(), SILENT_MS);
  };
  heard();
  try {
    const answer = await request('GET', '/v1/events', undefined, {
      headers: lastId === '' ? {} : { 'Last-Event-ID': lastId },
      signal: AbortSignal.any([signal, silent.signal]),
    });
    if (!answer.ok || !answer.body) return;
    opened();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      const blocks = (text + value).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const fields = new Map(block.split('\n').map(line => split(line)));
        const event = fields.get('event') as Kind | undefined;
        if (event)
          yield { id: fields.get('id') ?? '', event, data: JSON.parse(fields.get('data') ?? 'null') };
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

function split(line: string): [string, string] {
  const at = line.indexOf(': ');
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 2)];
}
