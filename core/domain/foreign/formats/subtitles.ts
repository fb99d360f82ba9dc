import { createHash } from 'node:crypto';
import type { ForeignSegment } from '../foreign-item.ts';
import { conversationOf, type Format, instantInName, nameOf, textOf } from '../format.ts';
import { wrong } from '../source-files.ts';

const TIMES =
  /^\s*(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[,.](\d{1,3})[ \t]+-->[ \t]+(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[,.](\d{1,3})(?:\s.*)?$/;
const VOICE = /^<v(?:\.[\w.]{1,100})?[ \t]([^>]{1,200})>/;
const NAMED = /^([^:<>]{1,60}?): +(?=\S)/;

/** SRT and WebVTT, as PLAUD, Otter, Fireflies and nearly everything else writes them. */
export const subtitles: Format = {
  title: 'subtitles',
  claims: path => /\.(srt|vtt)$/i.test(path),
  async *things(file, { timeZone }) {
    const text = await textOf(file);
    const segments = segmentsOf(text, file.path);
    yield conversationOf({
      key: `subtitles:${createHash('sha256').update(JSON.stringify(segments)).digest('hex')}`,
      source: 'external_integration',
      title: nameOf(file.path),
      startedAt: instantInName(file.path, timeZone) ?? file.modifiedAt,
      segments,
    });
  },
};

function segmentsOf(text: string, path: string): ForeignSegment[] {
  const segments: ForeignSegment[] = [];
  const lines = text.replace(/^\ufeff/, '').split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const match = TIMES.exec(line);
    if (!match) {
      if (line.includes('-->')) throw wrong(`${path}, line ${at + 1}: these are no times of a subtitle`);
      continue;
    }
    const [start, end] = [secondsOf(match.slice(1, 5)), secondsOf(match.slice(5, 9))];
    if (end < start) throw wrong(`${path}, line ${at + 1}: the subtitle ends before it begins`);
    const said: string[] = [];
    while (at + 1 < lines.length && (lines[at + 1] ?? '').trim() !== '' && !TIMES.test(lines[at + 1] ?? ''))
      said.push(lines[++at] ?? '');
    const segment = spokenIn(said.join(' '), start, end);
    if (segment.text !== '') segments.push(segment);
  }
  if (segments.length === 0) throw wrong(`${path} has no subtitle in it`);
  return segments.sort((a, b) => a.start - b.start);
}

function secondsOf([hours = '0', minutes = '0', seconds = '0', fraction = '0']: (
  | string
  | undefined
)[]): number {
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) + Number(`0.${fraction}`);
}

function spokenIn(cue: string, start: number, end: number): ForeignSegment {
  const voice = VOICE.exec(cue.trim())?.[1];
  const plain = cue
    .replace(/<[^<>]{0,200}>/g, '')
    .replace(/\{\\[^{}]{0,50}\}/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&amp;', '&')
    .trim();
  const named = voice === undefined ? NAMED.exec(plain) : null;
  const text = named ? plain.slice(named[0].length) : plain;
  return { text, start, end, speaker: (voice ?? named?.[1])?.trim() ?? null, isUser: false };
}
