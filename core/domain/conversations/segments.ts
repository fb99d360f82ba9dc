import type { Segment } from '../../contract/model.ts';
import { AppError } from '../../runtime/errors.ts';
import { newId } from '../ids.ts';
import type { VoiceUpdate } from '../speech/voices.ts';

/** Pauses shorter than this, in seconds, do not divide a speaker's segment. */
const MAX_PAUSE_S = 3;
/** Maximum length of a segment in seconds. */
const MAX_SEGMENT_S = 60;
/**
 * Maximum characters of a segment that pieces are joined to, several times what can be said in its time: each piece
 * that joins rewrites the whole text, and suggested pieces may all have the same time.
 */
const MAX_JOINED_CHARS = 5000;
/** Form of a speaker label, with the speaker's number. */
export const SPEAKER = /^SPEAKER_(\d{1,9})$/;

/** A piece of speech in its final form, as the recogniser returned it. */
export interface Piece {
  text: string;
  /** Epoch ms. */
  startAt: number;
  /** Epoch ms. */
  endAt: number;
  /** `SPEAKER_00`, `SPEAKER_01` and so on. */
  speaker: string;
  /** Absent: derived from `speaker`. */
  speakerId?: number;
  /** Spoken by the owner; absent: no. */
  isUser?: boolean;
  /** The known person who said it. */
  personId?: string | null;
  /** Language, as far as the recogniser detected it. */
  language?: string;
  sttProvider: string | null;
  /** Change to the stored voice of its speaker. */
  voice?: VoiceUpdate;
}

/** The conversation to which pieces are added. */
interface Place {
  userId: string;
  conversationId: string;
  /** Epoch ms that segment times count from. */
  startedAt: number;
  /** The segment that the first piece may join. */
  last: Segment | null;
  now: number;
}

/**
 * Joins pieces to segments; returns the new ones and the changed `last`. Consecutive pieces of one speaker less than
 * 3 s apart form one segment of at most 60 s and 5,000 characters, which keeps its id.
 */
export function addPieces(place: Place, pieces: Piece[]): Segment[] {
  const changed = new Map<string, Segment>();
  let last = place.last;
  for (const piece of pieces) {
    const next = toSegment(place, piece);
    last = last && joins(last, next) ? join(last, next) : next;
    changed.set(last.id, last);
  }
  return [...changed.values()];
}

function toSegment({ userId, conversationId, startedAt, now }: Place, piece: Piece): Segment {
  const seconds = (at: number) => Math.max(0, Math.round(at - startedAt)) / 1000;
  const start = seconds(piece.startAt);
  return {
    id: newId(now),
    userId,
    conversationId,
    text: piece.text.trim(),
    start,
    end: Math.max(start, seconds(piece.endAt)),
    speaker: piece.speaker,
    speakerId: piece.speakerId ?? numberOf(piece.speaker),
    isUser: piece.isUser ?? false,
    personId: piece.personId ?? null,
    sttProvider: piece.sttProvider,
    language: piece.language ?? null,
    translations: null,
    profileCompared: piece.voice?.isCompared ?? false,
  };
}

function joins(last: Segment, next: Segment): boolean {
  return (
    last.speaker === next.speaker &&
    last.speakerId === next.speakerId &&
    last.isUser === next.isUser &&
    (next.language === null || last.language === null || last.language === next.language) &&
    (next.personId === null || last.personId === next.personId) &&
    next.start >= last.start &&
    next.start - last.end < MAX_PAUSE_S &&
    next.end - last.start <= MAX_SEGMENT_S &&
    last.text.length + next.text.length < MAX_JOINED_CHARS
  );
}

function join(last: Segment, next: Segment): Segment {
  return {
    ...last,
    text: `${last.text} ${next.text}`,
    end: Math.max(last.end, next.end),
    sttProvider: next.sttProvider ?? last.sttProvider,
    language: last.language ?? next.language,
    translations: null,
    profileCompared: last.profileCompared || next.profileCompared,
  };
}

/** Returns the label for a speaker's number. */
export function speakerOf(number: number): string {
  return `SPEAKER_${String(number).padStart(2, '0')}`;
}

/** Returns the number in a speaker's label; `invalid_request` where it has another form. */
export function numberOf(speaker: string): number {
  const digits = SPEAKER.exec(speaker)?.[1];
  if (!digits)
    throw new AppError('invalid_request', `The speaker "${speaker}" is not of the form SPEAKER_00.`);
  return Number(digits);
}
