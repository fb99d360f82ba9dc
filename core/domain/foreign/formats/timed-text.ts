import { createHash } from 'node:crypto';
import type { ForeignSegment } from '../foreign-item.ts';
import { conversationOf, type Format, instantInName, nameOf, textOf } from '../format.ts';
import { wrong } from '../source-files.ts';

/** `Ada Byron  0:12` (Otter); `Ada Byron - 00:12` or `Ada Byron (00:12)` (Fireflies): the time, and what stands before it. */
const TIME_AT_END = /(?:[ \t]{2}|[ \t]-[ \t]|[ \t][([])(?<time>(?:\d{1,3}:)?\d{1,2}:\d{2})[)\]]?$/;
/** `00:00:12 Ada Byron` (PLAUD); `[00:12] Ada Byron: Good morning.`; `0:12` (Otter without speakers). */
const TIME_AT_BEGIN = /^\[?(?<time>(?:\d{1,3}:)?\d{1,2}:\d{2})\]?(?<rest>[ \t].*)?$/;
const MAX_SPEAKER_CHARS = 100;
const FOOTER = /^transcribed by https?:\/\/(www\.)?otter\.ai/i;
/** Assumed duration of the last lines. */
const LAST_SECONDS = 5;

/** Text with the times at which speakers begin, as Otter, Fireflies and PLAUD write it. */
export const timedText: Format = {
  title: 'a transcript as text (Otter, Fireflies, PLAUD)',
  claims: (path, head) => /\.txt$/i.test(path) && head.split('\n').some(line => headerOf(line) !== null),
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

/** Parses the line with a speaker and a time, and possibly the first words. */
interface Header {
  time: string;
  speaker: string | null;
  text: string;
}

function headerOf(line: string): Header | null {
  const tidied = line.trim();
  if (tidied.length > 200) return headerAtBegin(tidied, { isLong: true });
  const end = TIME_AT_END.exec(tidied);
  const speaker = end ? tidied.slice(0, end.index).trim() : '';
  if (end?.groups?.time && speaker !== '' && speaker.length <= MAX_SPEAKER_CHARS)
    return { time: end.groups.time, speaker, text: '' };
  return headerAtBegin(tidied, { isLong: false });
}

/** @param isLong whether the line is too long to be only a name */
function headerAtBegin(line: string, { isLong }: { isLong: boolean }): Header | null {
  const { time, rest = '' } = TIME_AT_BEGIN.exec(line)?.groups ?? {};
  if (time === undefined) return null;
  const [name = '', ...text] = rest.split(':');
  const speaker = name.trim();
  if (speaker.length > MAX_SPEAKER_CHARS || (isLong && text.length === 0)) return null;
  return { time, speaker: speaker || null, text: text.join(':').trim() };
}

function segmentsOf(text: string, path: string): ForeignSegment[] {
  const segments: ForeignSegment[] = [];
  for (const [at, line] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    const header = headerOf(line);
    if (header) {
      const { speaker, time, text } = header;
      const start = secondsOf(time);
      const last = segments.at(-1);
      if (last && start < last.start)
        throw wrong(`${path}, line ${at + 1}: it begins before what stands before it`);
      segments.push({ text, start, end: start, speaker, isUser: false });
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

function secondsOf(time: string): number {
  return time.split(':').reduce((seconds, part) => seconds * 60 + Number(part), 0);
}
