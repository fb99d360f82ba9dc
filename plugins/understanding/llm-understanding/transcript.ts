/** Writes a transcript for a model: numbered lines, in which speech cannot pass for markup or another line. Pure. */
import type { SpokenSegment, UnderstandingContext } from '../../../core/contract/plugin.ts';

/** A line; a long segment has several, with the same number. */
export interface Line {
  /** Number of its segment, from 1. */
  number: number;
  text: string;
  /** The owner wants to remember it. */
  isMarked?: boolean;
}

const MAX_NAME_CHARS = 60;
/** Maximum characters of a line, so that the transcript can be divided between lines. */
const MAX_LINE_CHARS = 2000;

/** Writes the lines: number, speaker, marks and colon, then what was said. */
export function linesOf(transcript: readonly SpokenSegment[], isKnown: (segment: SpokenSegment) => boolean) {
  return transcript.flatMap((segment, index): Line[] => {
    const who = segment.isUser ? ' (owner)' : isKnown(segment) ? ' (known)' : '';
    const worth = segment.isMarked ? ' (marked)' : '';
    const head = `${index + 1} ${harmless(segment.speaker).slice(0, MAX_NAME_CHARS)}${who}${worth}: `;
    return piecesOf(harmless(segment.text)).map(text => ({
      number: index + 1,
      text: head + text,
      isMarked: segment.isMarked === true,
    }));
  });
}

/** Returns whether a speaker is the owner, or known to the owner. A single speaker counts as the owner. */
export function knownIn(transcript: readonly SpokenSegment[], { people }: UnderstandingContext) {
  const names = new Set(people);
  const speakers = new Set(transcript.map(({ speaker }) => speaker));
  const isAlone = speakers.size === 1;
  return (segment: SpokenSegment) => segment.isUser || isAlone || names.has(segment.speaker);
}

/**
 * Puts text on one line and removes what could end the fenced data: markup, template marks, control tokens of models,
 * invisible characters, and those that change the direction of writing.
 */
export function harmless(text: string): string {
  return text
    .toWellFormed()
    .normalize('NFKC')
    .replace(/[<>{}|`\\]+/g, ' ')
    .replaceAll('[', '(')
    .replaceAll(']', ')')
    .replace(/[\p{Cf}\p{Co}\p{Cn}]+/gu, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/** Groups consecutive lines into parts of at most so many characters. */
export function partsOf(lines: readonly Line[], maxChars: number): Line[][] {
  const parts: Line[][] = [];
  let chars = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    if (chars + line.text.length > maxChars) {
      parts.push([]);
      chars = 0;
    }
    parts.at(-1)?.push(line);
    chars += line.text.length + 1;
  }
  return parts;
}

function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += MAX_LINE_CHARS) pieces.push(text.slice(at, at + MAX_LINE_CHARS));
  return pieces;
}
