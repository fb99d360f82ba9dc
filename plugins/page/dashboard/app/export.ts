/** A conversation as a file, in the formats that other programs read. */
import type { Conversation } from './data.ts';
import { dateTime, position } from './format.ts';

export const FORMATS = {
  md: { label: 'Markdown', type: 'text/markdown' },
  srt: { label: 'SRT', type: 'application/x-subrip' },
  vtt: { label: 'WebVTT', type: 'text/vtt' },
  json: { label: 'JSON', type: 'application/json' },
} as const;
export type Format = keyof typeof FORMATS;

function exported(conversation: Conversation, format: Format): string {
  const segments = conversation.transcript_segments ?? [];
  switch (format) {
    case 'json':
      return `${JSON.stringify(conversation, null, 2)}\n`;
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
      return markdown(conversation);
  }
}

function markdown({ structured, started_at, created_at, transcript_segments = [] }: Conversation): string {
  const said = transcript_segments.map(
    ({ start, speaker_name, text }) => `**${plain(speaker_name)}** (${position(start)}): ${plain(text)}`,
  );
  const head = [
    `# ${plain(structured.title)}`,
    dateTime(started_at ?? created_at),
    plain(structured.overview),
  ];
  return `${[...head, '## Transcript', ...said].filter(Boolean).join('\n\n')}\n`;
}

/** As it is, whatever Markdown would make of it. */
function plain(text: string): string {
  return oneLine(text).replace(/[\\`*_[\]<>#|]/g, character => `\\${character}`);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function download(conversation: Conversation, format: Format): void {
  const blob = new Blob([exported(conversation, format)], { type: FORMATS[format].type });
  const name = conversation.structured.title.replace(/[^\p{L}\p{N} -]/gu, '').slice(0, 60) || 'conversation';
  save(blob, `${name.trim()}.${format}`);
}

/** Hands it to the browser, as a file of this name. */
export function save(blob: Blob, fileName: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
