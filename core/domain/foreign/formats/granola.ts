import { z } from 'zod';
import type { ForeignSegment, ForeignThing } from '../foreign-item.ts';
import { conversationOf, type Format, instantFrom, jsonOf } from '../format.ts';
import { wrong } from '../source-files.ts';

const Text = z.string().nullish();
const Document = z.looseObject({
  title: Text,
  created_at: Text,
  updated_at: Text,
  deleted_at: Text,
  notes_plain: Text,
  notes_markdown: Text,
});
const Piece = z.looseObject({
  text: Text,
  source: Text,
  start_timestamp: Text,
  end_timestamp: Text,
});
const Cache = z.looseObject({
  state: z.looseObject({
    documents: z.record(z.string(), Document.nullable()),
    transcripts: z.record(z.string(), z.array(Piece).nullable()).optional(),
  }),
});

/** The cache of Granola's app, `cache-v3.json`: a JSON document within a JSON document. */
export const granola: Format = {
  title: 'Granola',
  claims: path => /(^|\/)cache-v\d+\.json$/.test(path),
  async *things(file) {
    const outer = z.looseObject({ cache: z.unknown() }).safeParse(await jsonOf(file));
    const inner = outer.success ? parsed(outer.data.cache, file.path) : null;
    const cache = Cache.safeParse(inner);
    if (!cache.success) throw wrong(`${file.path} is no cache as Granola writes it`);
    const { documents, transcripts = {} } = cache.data.state;
    for (const [id, document] of Object.entries(documents))
      if (document) yield thingOf(id, document, transcripts[id] ?? [], file.path);
  },
};

function parsed(cache: unknown, path: string): unknown {
  if (typeof cache !== 'string') return cache;
  try {
    return JSON.parse(cache);
  } catch (cause) {
    throw wrong(`${path}: the document in it is not whole`, cause);
  }
}

function thingOf(
  id: string,
  document: z.infer<typeof Document>,
  pieces: readonly z.infer<typeof Piece>[],
  path: string,
): ForeignThing {
  if (document.deleted_at) return { kind: 'left_out', what: 'note', why: 'it was deleted there' };
  const notes = document.notes_plain ?? document.notes_markdown ?? '';
  const timed = pieces.flatMap(({ text, source, start_timestamp, end_timestamp }) => {
    const [from, to] = [instantFrom(start_timestamp), instantFrom(end_timestamp)];
    if (from === null || !text?.trim()) return [];
    return [{ text, from, to: Math.max(to ?? from, from), isUser: source === 'microphone' }];
  });
  const startedAt =
    timed.length > 0 ? Math.min(...timed.map(({ from }) => from)) : instantFrom(document.created_at);
  if (startedAt === null) throw wrong(`${path}: the note ${id.slice(0, 100)} has no time`);
  const segments = timed
    .sort((a, b) => a.from - b.from)
    .map(({ text, from, to, isUser }): ForeignSegment => {
      const [start, end] = [(from - startedAt) / 1000, (to - startedAt) / 1000];
      return { text, start, end, speaker: isUser ? null : 'Speaker 2', isUser };
    });
  if (segments.length === 0 && notes.trim() === '' && !document.title)
    return { kind: 'left_out', what: 'note', why: 'it is empty' };
  const noted = { text: notes, start: 0, end: 0, speaker: null, isUser: true };
  return conversationOf({
    key: `granola:${id.slice(0, 200)}`,
    source: 'external_integration',
    startedAt,
    title: document.title ?? '',
    overview: segments.length === 0 ? '' : notes,
    segments: segments.length === 0 && notes.trim() !== '' ? [noted] : segments,
  });
}
