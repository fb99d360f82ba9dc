/** A transcript as a model reads it: numbered lines from which nothing can look like anything else. Pure. */
import type { SpokenSegment, UnderstandingContext } from '../../../core/contract/plugin.ts';

/** One line; several have the same number where what was said is too long for one. */
export interface Line {
  /** Number of its segment, from 1. */
  number: number;
  text: string;
}

const MAX_NAME_CHARS = 60;
/** Characters of a line, so that parts can be cut between lines. */
const MAX_LINE_CHARS = 2000;

/** Beside words of people and their speakers there is a number, a mark and a colon. */
export function linesOf(transcript: readonly SpokenSegment[], isKnown: (segment: SpokenSegment) => boolean) {
  return transcript.flatMap((segment, index): Line[] => {
    const mark = segment.isUser ? ' (owner)' : isKnown(segment) ? ' (known)' : '';
    const head = `${index + 1} ${harmless(segment.speaker).slice(0, MAX_NAME_CHARS)}${mark}: `;
    return piecesOf(harmless(segment.text)).map(text => ({ number: index + 1, text: head + text }));
  });
}

/** Whether somebody is the owner, or known to the owner; who speaks alone is the owner. */
export function knownIn(transcript: readonly SpokenSegment[], { people }: UnderstandingContext) {
  const names = new Set(people);
  const speakers = new Set(transcript.map(({ speaker }) => speaker));
  const isAlone = speakers.size === 1;
  return (segment: SpokenSegment) => segment.isUser || isAlone || names.has(segment.speaker);
}

/**
 * Text on one line, without what could end the data that it is a part of: marks of markup, of templates and of models'
 * own control tokens, invisible characters, and such as turn the direction of writing.
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

/** Lines in a row that have at most so many characters together. */
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
