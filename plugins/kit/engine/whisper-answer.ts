/** Converts the response of a transcription endpoint to pieces of a stream. Pure. */
import type { Transcript } from '../../../core/contract/plugin.ts';
import { isRecord, parseJson } from '../json.ts';

const SAMPLE_RATE = 16_000;
/** Whisper's notations for audio without speech. */
const NOTHING = /^\[\s*BLANK_AUDIO\s*\]$/i;

interface Answer {
  text: string;
  /** Seconds from the start of the file. */
  segments: { text: string; start: number; end: number }[];
  /** ISO 639-1. A language name, as some servers write, is ignored. */
  language: string | null;
}

/** Parses a body; null when it is not a transcription. */
export function readAnswer(body: string): Answer | null {
  const json = parseJson(body);
  if (!isRecord(json) || typeof json.text !== 'string') return null;
  const { language } = json;
  return {
    text: heard(json.text),
    segments: Array.isArray(json.segments) ? json.segments.flatMap(readSegment) : [],
    language: typeof language === 'string' && /^[a-z]{2}$/.test(language) ? language : null,
  };
}

/** Final pieces between two positions of the stream, in order: one for each segment, or one for all. */
export function piecesOf({ text, segments, language }: Answer, from: number, to: number): Transcript[] {
  const common = { final: true, ...(language === null ? {} : { language }) };
  const whole = { ...common, text, startSample: from, endSample: to };
  const pieces: Transcript[] = [];
  for (const segment of segments) {
    const last = pieces.at(-1);
    const startSample = within(from + Math.round(segment.start * SAMPLE_RATE), last?.endSample ?? from, to);
    const endSample = within(from + Math.round(segment.end * SAMPLE_RATE), startSample, to);
    if (endSample > startSample) pieces.push({ ...common, text: segment.text, startSample, endSample });
    else if (last) last.text = `${last.text} ${segment.text}`;
    else return [{ ...whole, text: text || segments.map(each => each.text).join(' ') }]; // invalid times
  }
  if (pieces.length > 0) return pieces;
  return text === '' ? [] : [whole];
}

function readSegment(value: unknown): Answer['segments'] {
  if (!isRecord(value) || typeof value.text !== 'string') return [];
  const { start, end } = value;
  const text = heard(value.text);
  if (text === '' || !isTime(start) || !isTime(end)) return [];
  return [{ text, start, end }];
}

/** Maximum characters of a prompt: about 224 tokens, the last of which Whisper reads. */
const MAX_PROMPT_CHARS = 600;

/** Formats words to expect as a prompt, a text that might have come before; '' where there are none. */
export function promptOf(vocabulary: readonly string[], given = ''): string {
  let prompt = given;
  for (const word of vocabulary) {
    const longer = prompt === '' ? word : `${prompt}, ${word}`;
    if (longer.length > MAX_PROMPT_CHARS) break;
    prompt = longer;
  }
  return prompt === '' || prompt === given ? prompt : `${prompt}.`;
}

/** Puts text on one line. */
export function heard(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return NOTHING.test(line) ? '' : line;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function within(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
