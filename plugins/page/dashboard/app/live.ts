/** Live transcripts and the recording devices: kept on every page while somebody is signed in. */
import { signal } from '@preact/signals';
import type { Conversation, Mark, Segment } from './data.ts';
import { on } from './feed.ts';
import { loadMarks } from './marks.tsx';
import { api } from './session.ts';

export interface LiveConversation {
  id: string;
  /** `ended`: the server is writing the title and summary. */
  state: 'open' | 'ended' | 'done';
  segments: Segment[];
  marks: readonly Mark[];
  startedAt: string | null;
}

export interface Device {
  device: string | null;
  source: string;
}

/** Newest last; an ended conversation stays until there are three newer ones. */
export const conversations = signal<readonly LiveConversation[]>([]);
export const devices = signal<readonly Device[]>([]);

const MAX_SHOWN = 3;
/** Maximum segments kept per conversation; the conversation's own page shows earlier ones. */
const MAX_SEGMENTS = 400;

function change(id: string, edit: (found: LiveConversation) => LiveConversation): void {
  const all = conversations.value;
  const found = all.find(each => each.id === id) ?? {
    ...{ id, state: 'open', segments: [], marks: [], startedAt: null },
  };
  const others = all.filter(each => each.id !== id);
  const isNew = others.length === all.length;
  const edited = edit(found);
  conversations.value = isNew
    ? [...others, edited].slice(-MAX_SHOWN)
    : all.map(each => (each.id === id ? edited : each));
}

function merged(before: readonly Segment[], fresh: readonly Segment[]): Segment[] {
  const byId = new Map([...before, ...fresh].map(segment => [segment.id, segment]));
  return [...byId.values()].sort((a, b) => a.start - b.start).slice(-MAX_SEGMENTS);
}

async function load(id: string): Promise<void> {
  const found = await api<Conversation>(
    'GET',
    `/v1/dev/user/conversations/${id}?include_transcript=true`,
  ).catch(() => null);
  if (!found) return;
  const marks = await loadMarks(id).catch(() => []);
  change(id, ({ segments }) => ({
    id,
    state: found.status === 'in_progress' ? 'open' : found.status === 'processing' ? 'ended' : 'done',
    segments: merged(found.transcript_segments ?? [], segments),
    marks,
    startedAt: found.started_at,
  }));
}

on('ready', ({ conversations: open, devices: connected }) => {
  devices.value = connected;
  const known = new Set(open.map(each => each.conversation_id));
  conversations.value = conversations.value.filter(({ id, state }) => state === 'done' || known.has(id));
  for (const { conversation_id } of open.slice(0, MAX_SHOWN).reverse()) void load(conversation_id);
});
on('segments', ({ conversation_id: id, segments }) => {
  const known = conversations.value.find(each => each.id === id);
  change(id, found => ({ ...found, segments: merged(found.segments, segments) }));
  if (!known?.startedAt) void load(id); // the conversation began with these words
});
on('conversation', ({ conversation_id: id, change: what }) => {
  if (what === 'removed') conversations.value = conversations.value.filter(each => each.id !== id);
  const isShown = conversations.value.some(each => each.id === id);
  if (isShown && what === 'processing') change(id, found => ({ ...found, state: 'ended' }));
  if (isShown && (what === 'completed' || what === 'failed'))
    change(id, found => ({ ...found, state: 'done' }));
});
on('mark', ({ mark_id: id, conversation_id, at, change: what }) => {
  if (!conversations.value.some(each => each.id === conversation_id)) return;
  change(conversation_id, found => {
    const others = found.marks.filter(mark => mark.id !== id);
    return { ...found, marks: what === 'removed' ? others : [...others, { id, conversation_id, at }] };
  });
});
on('device', ({ device, source, connected }) => {
  const others = devices.value.filter(each => each.device !== device || each.source !== source);
  devices.value = connected ? [...others, { device, source }] : others;
});
