import type { Segment } from '../../contract/model.ts';
import { AppError } from '../../runtime/errors.ts';
import { newId } from '../ids.ts';
import type { VoiceUpdate } from '../speech/voices.ts';

/** Silence between two pieces of one speaker that still leaves them one segment, in seconds, exclusive. */
const MAX_PAUSE_S = 3;
/** A segment is at most this long. */
const MAX_SEGMENT_S = 60;
/** The number in it is the speaker's. */
export const SPEAKER = /^SPEAKER_(\d{1,9})$/;

/** Something that was said, as the recogniser finalised it. */
export interface Piece {
  text: string;
  /** Epoch ms. */
  startAt: number;
  /** Epoch ms. */
  endAt: number;
  /** `SPEAKER_00` and up. */
  speaker: string;
  /** Absent: the number in `speaker`. */
  speakerId?: number;
  /** Said by the owner; absent: no. */
  isUser?: boolean;
  /** The known person who said it. */
  personId?: string | null;
  /** In which it was said, as far as the recogniser heard. */
  language?: string;
  sttProvider: string | null;
  /** Update to its voice. */
  voice?: VoiceUpdate;
}

/** Where pieces are added. */
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
 * The segments that these pieces make, new ones and the changed `last`. Consecutive pieces of one speaker less than 3 s
 * apart are one segment of at most 60 s; it keeps its id.
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
    next.end - last.start <= MAX_SEGMENT_S
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

/** The label of a speaker's number. */
export function speakerOf(number: number): string {
  return `SPEAKER_${String(number).padStart(2, '0')}`;
}

/** The number of a speaker; `invalid_request` where it is not of that form. */
export function numberOf(speaker: string): number {
  const digits = SPEAKER.exec(speaker)?.[1];
  if (!digits)
    throw new AppError('invalid_request', `The speaker "${speaker}" is not of the form SPEAKER_00.`);
  return Number(digits);
}
