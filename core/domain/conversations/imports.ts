/** Import of conversations that were recorded elsewhere, as text: each step inside a transaction of its caller. */

import type { Conversation, ConversationStatus, Geolocation, Segment } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';
import { AppError, type Issue } from '../../runtime/errors.ts';
import { derivedId, newId } from '../ids.ts';
import { piecesOf } from '../text-pieces.ts';
import { LATEST } from '../wall-clock.ts';
import { exceedsSize, MAX_SEGMENT_CHARS, MAX_SIZE, sizeOf } from './conversation-size.ts';
import { enqueueFinish, NO_STRUCTURE } from './lifecycle.ts';
import { numberOf } from './segments.ts';

export interface ImportRequest {
  userId: string;
  /** The client's id of the recording; null: none, and every request creates a conversation. */
  clientSessionId: string | null;
  source: string;
  deviceId: string | null;
  language: string;
  geolocation: Geolocation | null;
  /** Epoch ms; null: now. */
  startedAt: number | null;
  /** Epoch ms; null: the end of the last segment. */
  finishedAt: number | null;
  segments: ImportedSegment[];
}

interface ImportedSegment {
  text: string;
  /** Seconds from the beginning. */
  start: number;
  end: number;
  /** `SPEAKER_00`, `SPEAKER_01` and so on. */
  speaker: string;
  /** Null: derived from `speaker`. */
  speakerId: number | null;
  isUser: boolean;
  personId: string | null;
}

/** A conversation as plain text, without speakers and times. */
export interface TextRequest extends Omit<ImportRequest, 'clientSessionId' | 'segments'> {
  text: string;
}

/** Outcome of an import. */
export interface Imported {
  id: string;
  status: ConversationStatus | 'deleted';
  discarded: boolean;
}

/** Timeout as of a live conversation; without effect, because it has ended already. */
const TIMEOUT_MS = 120_000;

/** Returns the id that the conversation gets, or has already. */
export function idOf({ userId, clientSessionId }: ImportRequest, now: number): string {
  return clientSessionId === null ? newId(now) : derivedId(`${userId}\0${clientSessionId}`);
}

/**
 * Turns a text into segments, whose duration is 0 unless the end is known. A long text is divided at its sentences,
 * and the time by their lengths.
 */
export function fromText({ text, ...about }: TextRequest, now: number): ImportRequest {
  const startedAt = about.startedAt ?? now;
  const finishedAt = about.finishedAt ?? startedAt;
  const pieces = piecesOf(text, MAX_SEGMENT_CHARS);
  const chars = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const speech = { speaker: 'SPEAKER_00', speakerId: null, isUser: false, personId: null };
  const leastMs = pieces.length > 1 ? pieces.length : 0; // otherwise their order would be lost
  const seconds = Math.max(leastMs, finishedAt - startedAt) / 1000;
  /** Rounds to microseconds: further digits carry no information. */
  const timeAt = (char: number) => Math.round((seconds * char * 1e6) / chars) / 1e6;
  let before = 0;
  const segments = pieces.map(piece => {
    const start = timeAt(before);
    before += piece.length;
    return { ...speech, text: piece, start, end: timeAt(before) };
  });
  return { ...about, clientSessionId: null, startedAt, finishedAt, segments };
}

/** Stores it with the durable job that makes its structure. False: this client session was stored before. */
export async function importIn(
  tx: Stores,
  id: string,
  request: ImportRequest,
  now: number,
): Promise<boolean> {
  const { userId, clientSessionId, segments } = request;
  if (clientSessionId !== null && !(await tx.claims.take(userId, id, now))) return false;
  checkSize(segments);
  await checkPeople(tx, request);
  const conversation = conversationOf(id, request, now);
  await tx.conversations.insert(conversation);
  await tx.segments.upsert(segments.map(segment => segmentOf(conversation, segment, now)));
  await enqueueFinish(tx, conversation, now);
  return true;
}

function checkSize(segments: readonly ImportedSegment[]): void {
  if (!exceedsSize([sizeOf(segments)])) return;
  const issue = { loc: ['body', 'transcript_segments'], msg: `Too much text: ${MAX_SIZE}`, type: 'too_long' };
  throw new AppError('invalid_request', issue.msg, { issues: [issue] });
}

async function checkPeople(tx: Stores, { userId, segments }: ImportRequest): Promise<void> {
  if (segments.every(segment => segment.personId === null)) return;
  const known = new Set((await tx.people.list(userId)).map(person => person.id));
  const issues = segments.flatMap(({ personId }, index): Issue[] =>
    personId === null || known.has(personId)
      ? []
      : [
          {
            loc: ['body', 'transcript_segments', index, 'person_id'],
            msg: 'Person not found',
            type: 'value_error',
          },
        ],
  );
  if (issues.length > 0) throw new AppError('invalid_request', 'A person is unknown', { issues });
}

function conversationOf(id: string, request: ImportRequest, now: number): Conversation {
  const { userId, source, deviceId, language, geolocation, segments } = request;
  const startedAt = request.startedAt ?? now;
  const seconds = segments.reduce((latest, segment) => Math.max(latest, segment.end), 0);
  const finishedAt = request.finishedAt ?? startedAt + Math.round(seconds * 1000);
  if (finishedAt < startedAt) throw invalid('finished_at', 'Input should not be before started_at');
  if (startedAt + Math.round(seconds * 1000) > LATEST)
    throw invalid('started_at', 'The last segment should end before the year 10000');
  return {
    id,
    userId,
    status: 'processing',
    createdAt: now,
    startedAt,
    finishedAt,
    structured: NO_STRUCTURE,
    language,
    source,
    deviceId,
    folderId: null,
    geolocation,
    discarded: false,
    starred: false,
    locked: false,
    timeoutMs: TIMEOUT_MS,
    lastActivityAt: now,
  };
}

function segmentOf(conversation: Conversation, segment: ImportedSegment, now: number): Segment {
  return {
    ...segment,
    id: newId(now),
    userId: conversation.userId,
    conversationId: conversation.id,
    speakerId: segment.speakerId ?? numberOf(segment.speaker),
    sttProvider: null,
    language: null,
    translations: null,
    profileCompared: false,
  };
}

function invalid(field: string, msg: string): AppError {
  const issues = [{ loc: ['body', field], msg, type: 'value_error' }];
  return new AppError('invalid_request', msg, { issues });
}
