import { createHash } from 'node:crypto';
import type { ForeignSegment } from '../../domain/foreign/foreign-item.ts';
import { conversationOf, type Format, instantInName, nameOf, textOf } from '../format.ts';
import { wrong } from '../source-files.ts';

const TIME = String.raw`(?:\d{1,3}:)?\d{1,2}:\d{2}`;

/** The lines that begin what one speaker says: name, time, and perhaps its first words. */
const HEADERS: readonly RegExp[] = [
  // Otter: `Ada Byron  0:12`
  new RegExp(String.raw`^(?<speaker>\S.{0,98}?)[ \t]{2,}(?<time>${TIME})[ \t]*$`),
  // Fireflies: `Ada Byron - 00:12` or `Ada Byron (00:12)`
  new RegExp(
    String.raw`^(?<speaker>\S.{0,98}?)[ \t](?:-[ \t](?<time>${TIME})|[(\[](?<time2>${TIME})[)\]])[ \t]*$`,
  ),
  // PLAUD: `00:00:12 Ada Byron`
  new RegExp(String.raw`^[ \t]*\[?(?<time>${TIME})\]?[ \t]+(?<speaker>[^:]{1,60})$`),
  // `[00:12] Ada Byron: Good morning.`
  new RegExp(String.raw`^[ \t]*\[?(?<time>${TIME})\]?[ \t]+(?<speaker>[^:]{1,60}):[ \t]*(?<text>.*)$`),
  // Otter without speakers: `0:12`
  new RegExp(String.raw`^[ \t]*\[?(?<time>${TIME})\]?[ \t]*$`),
];
const FOOTER = /^transcribed by https?:\/\/(www\.)?otter\.ai/i;
/** A speaker of the last lines is taken to go on for so long. */
const LAST_SECONDS = 5;

/** Text with the times at which speakers begin, as Otter, Fireflies and PLAUD write it. */
export const timedText: Format = {
  title: 'a transcript as text (Otter, Fireflies, PLAUD)',
  claims: (path, head) => /\.txt$/i.test(path) && head.split('\n').some(line => headerOf(line.trimEnd())),
  async *things(file, { timeZone }) {
    const segments = segmentsOf(await textOf(file), file.path);
    yield conversationOf({
      key: `text:${createHash('sha256').update(JSON.stringify(segments)).digest('hex')}`,
      source: 'external_integration',
      title: nameOf(file.path),
      startedAt: instantInName(file.path, timeZone) ?? file.modifiedAt,
      segments,
    });
  },
};

function headerOf(line: string): RegExpExecArray | null {
  if (line.length > 200) return null;
  for (const header of HEADERS) {
    const match = header.exec(line);
    if (match) return match;
  }
  return null;
}

function segmentsOf(text: string, path: string): ForeignSegment[] {
  const segments: ForeignSegment[] = [];
  for (const [at, line] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    const match = headerOf(line.trimEnd()) ?? longHeaderOf(line);
    if (match?.groups) {
      const { speaker, time, time2, text = '' } = match.groups;
      const start = secondsOf(time ?? time2 ?? '');
      const last = segments.at(-1);
      if (last && start < last.start)
        throw wrong(`${path}, line ${at + 1}: it begins before what stands before it`);
      segments.push({ text, start, end: start, speaker: speaker?.trim() ?? null, isUser: false });
    } else if (line.trim() !== '' && !FOOTER.test(line.trim())) {
      const last = segments.at(-1);
      if (last) last.text = `${last.text} ${line.trim()}`.trim();
      else if (at > 20) throw wrong(`${path}: nothing in it has a time`);
    }
  }
  const spoken = segments.filter(segment => segment.text !== '');
  if (spoken.length === 0) throw wrong(`${path}: nobody says anything in it`);
  return spoken.map((segment, at) => ({
    ...segment,
    end: spoken[at + 1]?.start ?? segment.start + LAST_SECONDS,
  }));
}

/** One whose first words follow in the same line, however many. */
function longHeaderOf(line: string): RegExpExecArray | null {
  return HEADERS[3]?.exec(line) ?? null;
}

function secondsOf(time: string): number {
  return time.split(':').reduce((seconds, part) => seconds * 60 + Number(part), 0);
}
