/** Converts Deepgram's responses to pieces of a stream. Pure. */
import type { Transcript, Utterance } from '../../../core/contract/plugin.ts';
import { within } from '../../kit/engine/socket.ts';
import { isRecord, parseJson } from '../../kit/kit.ts';

interface Word {
  text: string;
  /** Seconds on the connection's clock. */
  start: number;
  end: number;
  speaker: number | null;
}

interface Results {
  /** Whether this text will not change any more. */
  isFinal: boolean;
  /** Whether this completes the answer to everything sent before `Finalize`. */
  isFinalized: boolean;
  text: string;
  start: number;
  end: number;
  words: Word[];
  language: string | null;
}

const SAMPLE_RATE = 16_000;
const NOTHING: Results = {
  isFinal: false,
  isFinalized: false,
  text: '',
  start: 0,
  end: 0,
  words: [],
  language: null,
};

/** Reads a message. Null: it does not follow the protocol. Other types (`Metadata`, `SpeechStarted`) have no words. */
export function readResults(message: string): Results | null {
  const json = parseJson(message);
  if (!isRecord(json) || typeof json.type !== 'string') return null;
  if (json.type !== 'Results') return NOTHING;
  const { channel, start, duration } = json;
  const [best] = isRecord(channel) && Array.isArray(channel.alternatives) ? channel.alternatives : [];
  if (!isRecord(best) || typeof best.transcript !== 'string') return null;
  if (typeof start !== 'number' || typeof duration !== 'number') return null;
  const [language] = Array.isArray(best.languages) ? best.languages : [];
  return {
    isFinal: json.is_final === true,
    isFinalized: json.from_finalize === true,
    text: best.transcript.replaceAll(/\s+/g, ' ').trim(),
    start,
    end: start + duration,
    words: Array.isArray(best.words) ? best.words.flatMap(readWord) : [],
    language: typeof language === 'string' && /^[a-z]{2}(-|$)/.test(language) ? language.slice(0, 2) : null,
  };
}

function readWord(value: unknown): Word[] {
  if (!isRecord(value)) return [];
  const { word, punctuated_word: written = word, start, end, speaker } = value;
  if (typeof written !== 'string' || typeof start !== 'number' || typeof end !== 'number') return [];
  return [{ text: written, start, end, speaker: isSpeaker(speaker) ? speaker : null }];
}

function isSpeaker(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 1000;
}

/** Counts the voices among these words; 0 where Deepgram does not label them. */
export function voicesOf({ words }: Results): number {
  return words.reduce((most, { speaker }) => Math.max(most, (speaker ?? -1) + 1), 0);
}

interface Where {
  utterance: Utterance;
  /** Samples sent over the connection before this utterance. */
  base: number;
  /** Sample up to which pieces were returned already. */
  through: number;
  /** Number of the label of the connection's first voice: Deepgram counts voices from 0 on each connection. */
  firstSpeaker: number;
}

/** Returns a piece for each turn of a voice; a single one where voices are not labelled. */
export function piecesOf(results: Results, { utterance, base, through, firstSpeaker }: Where): Transcript[] {
  const { text, start, end, words, language } = results;
  if (text === '') return [];
  const { startSample, endSample } = utterance;
  const sampleAt = (seconds: number) => startSample + seconds * SAMPLE_RATE - base;
  const last = endSample ?? Math.max(through + 1, Math.round(sampleAt(end)));
  let from = through;
  return turnsOf(results.words.length > 0 ? words : [{ text, start, end, speaker: null }]).map(turn => {
    const startAt = within(sampleAt(turn.start), from, last - 1);
    const endAt = within(sampleAt(turn.end), startAt + 1, last);
    from = endAt;
    const who = turn.speaker === null ? {} : { speaker: labelOf(firstSpeaker + turn.speaker) };
    const spoken = language === null ? {} : { language };
    return { text: turn.text, startSample: startAt, endSample: endAt, final: true, ...who, ...spoken };
  });
}

function labelOf(speaker: number): string {
  return `SPEAKER_${String(speaker).padStart(2, '0')}`;
}

function turnsOf(words: readonly Word[]): Word[] {
  const turns: Word[] = [];
  for (const word of words) {
    const last = turns.at(-1);
    if (last && last.speaker === word.speaker) {
      last.text += ` ${word.text}`;
      last.end = word.end;
    } else turns.push({ ...word });
  }
  return turns;
}
