/** Exports a conversation as a file in formats that other programs read. */
import type { Conversation, Mark, Segment } from './data.ts';
import { dateTime, position } from './format.ts';

export const FORMATS = {
  md: { label: 'Markdown', type: 'text/markdown' },
  srt: { label: 'SRT', type: 'application/x-subrip' },
  vtt: { label: 'WebVTT', type: 'text/vtt' },
  json: { label: 'JSON', type: 'application/json' },
} as const;
export type Format = keyof typeof FORMATS;

/** Marks by the id of their segment. */
type Marked = ReadonlyMap<string, readonly Mark[]>;

function exported(conversation: Conversation, format: Format, marked: Marked): string {
  const segments = conversation.transcript_segments ?? [];
  switch (format) {
    case 'json':
      return `${JSON.stringify({ ...conversation, marks: [...marked.values()].flat() }, null, 2)}\n`;
    case 'srt':
      return segments
        .map(({ start, end, speaker_name, text }, index) => {
          const span = `${position(start, ',')} --> ${position(end, ',')}`;
          return `${index + 1}\n${span}\n${speaker_name}: ${oneLine(text)}\n`;
        })
        .join('\n');
    case 'vtt':
      return `WEBVTT\n\n${segments
        .map(({ start, end, speaker_name, text }) => {
          const span = `${position(start, '.')} --> ${position(end, '.')}`;
          return `${span}\n<v ${escaped(speaker_name)}>${escaped(oneLine(text))}\n`;
        })
        .join('\n')}`;
    case 'md':
      return markdown(conversation, marked);
  }
}

function markdown(
  { structured, started_at, created_at, transcript_segments = [] }: Conversation,
  marked: Marked,
): string {
  const lineOf = ({ start, speaker_name, text }: Segment) =>
    `**${plain(speaker_name)}** (${position(start)}): ${plain(text)}`;
  const said = transcript_segments.map(each => `${marked.has(each.id) ? '★ ' : ''}${lineOf(each)}`);
  const moments = transcript_segments.filter(({ id }) => marked.has(id)).map(each => `- ${lineOf(each)}`);
  const head = [
    `# ${plain(structured.title)}`,
    dateTime(started_at ?? created_at),
    plain(structured.overview),
  ];
  const marks = moments.length === 0 ? [] : ['## Marks', moments.join('\n')];
  return `${[...head, ...marks, '## Transcript', ...said].filter(Boolean).join('\n\n')}\n`;
}

/** Escapes characters that Markdown would interpret. */
function plain(text: string): string {
  return oneLine(text).replace(/[\\`*_[\]<>#|]/g, character => `\\${character}`);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function download(conversation: Conversation, format: Format, marked: Marked): void {
  const blob = new Blob([exported(conversation, format, marked)], { type: FORMATS[format].type });
  const name = conversation.structured.title.replace(/[^\p{L}\p{N} -]/gu, '').slice(0, 60) || 'conversation';
  save(blob, `${name.trim()}.${format}`);
}

/** Offers the content to the browser as a download with this name. */
export function save(blob: Blob, fileName: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
