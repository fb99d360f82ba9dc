/** A conversation as files that people and other programs read. */
import type { Conversation, Photo, Segment } from '../../contract/model.ts';

export interface ReadableConversation {
  conversation: Conversation;
  segments: readonly Segment[];
  /** Ids of the segments that the owner marked. */
  marked: ReadonlySet<string>;
  photos: readonly Photo[];
  speakerName(segment: Segment): string;
}

/** By the ending of the file's name. */
export const FORMATS = { md: markdown, srt, vtt } as const;

/** Markdown with front matter, as Obsidian reads it. */
function* markdown({
  conversation,
  segments,
  marked,
  photos,
  speakerName,
}: ReadableConversation): Generator<string> {
  const { id, structured, createdAt, startedAt, finishedAt, source, language, starred } = conversation;
  yield frontMatter({
    id,
    created: new Date(createdAt).toISOString(),
    started: startedAt === null ? null : new Date(startedAt).toISOString(),
    finished: finishedAt === null ? null : new Date(finishedAt).toISOString(),
    category: structured.category,
    source,
    language,
    starred,
  });
  yield `# ${plain(structured.title)}\n\n${plain(structured.overview)}\n`;
  if (structured.actionItems.length > 0) yield '\n## Tasks\n\n';
  for (const { description, completed, dueAt } of structured.actionItems)
    yield `- [${completed ? 'x' : ' '}] ${plain(description)}${dueAt === null ? '' : ` (due ${new Date(dueAt).toISOString()})`}\n`;
  if (structured.events.length > 0) yield '\n## Events\n\n';
  for (const { title, startAt, duration } of structured.events)
    yield `- ${new Date(startAt).toISOString()}, ${duration} min: ${plain(title)}\n`;
  if (photos.length > 0) yield '\n## Photos\n';
  for (const { id: photo, description } of photos)
    yield `\n![${plain(description ?? 'Photo')}](../../../photos/${photo}.jpg)\n`;
  if (segments.length > 0) yield '\n## Transcript\n';
  for (const segment of segments)
    yield `\n**${plain(speakerName(segment))}** (${clock(segment.start, '.').slice(0, -4)}${marked.has(segment.id) ? ', marked' : ''}): ${plain(segment.text)}\n`;
}

/** SubRip. */
function* srt({ segments, speakerName }: ReadableConversation): Generator<string> {
  for (const [index, segment] of segments.entries()) {
    const span = `${clock(segment.start, ',')} --> ${clock(segment.end, ',')}`;
    yield `${index + 1}\n${span}\n${oneLine(speakerName(segment))}: ${oneLine(segment.text)}\n\n`;
  }
}

/** WebVTT. */
function* vtt({ segments, speakerName }: ReadableConversation): Generator<string> {
  yield 'WEBVTT\n';
  for (const segment of segments) {
    const span = `${clock(segment.start, '.')} --> ${clock(segment.end, '.')}`;
    yield `\n${span}\n<v ${escaped(speakerName(segment))}>${escaped(segment.text)}\n`;
  }
}

/** Letters, digits, blanks and hyphens of it: fit for the name of a file anywhere. */
export function fileName(title: string): string {
  const name = title.replace(/[^\p{L}\p{N} -]/gu, '').slice(0, 60);
  return name.trim() || 'Conversation';
}

function frontMatter(values: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(values).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`); // which YAML reads
  return `---\n${lines.join('')}---\n\n`;
}

function clock(seconds: number, point: ',' | '.'): string {
  const ms = Math.max(0, Math.round(seconds * 1000));
  const part = (value: number, digits = 2) => String(Math.floor(value)).padStart(digits, '0');
  return `${part(ms / 3_600_000)}:${part((ms / 60_000) % 60)}:${part((ms / 1000) % 60)}${point}${part(ms % 1000, 3)}`;
}

/** As it is, whatever Markdown would make of it. */
function plain(text: string): string {
  return oneLine(text).replace(/[\\`*_[\]<>#|]/g, character => `\\${character}`);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function escaped(text: string): string {
  return oneLine(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
