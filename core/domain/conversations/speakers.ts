/** Assigns voices to people: each step inside a transaction of its caller. */

import type { Segment, Voice, VoiceSample } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';
import { isId, newId } from '../ids.ts';
import type { Match } from '../speech/voices.ts';
import { saidBy } from './corrections.ts';
import { writable } from './edits.ts';
import { reprocessIn } from './lifecycle.ts';
import { numberOf, type Piece } from './segments.ts';

/** Samples of one person; the oldest makes room. */
const MAX_SAMPLES = 20;
/** Seconds of speech that a sample needs. */
const SAMPLE_SECONDS = 2;
/** From the last assignment until the conversation is processed again. */
const REPROCESS_AFTER_MS = 10_000;

export interface SpeakerAssignment {
  speakerId: number;
  /** `user`: the owner; null: nobody that is known. */
  personId: string | null;
  /** Further segments that are this person's, whoever they were said to be of. */
  segmentIds?: readonly string[];
}

interface Named {
  userId: string;
  /** Id of the conversation. */
  id: string;
}

/**
 * Gives pieces the names that their voices have, and keeps what is new of these. What was said before by a voice that is
 * recognised just now gets its name, too: these segments are in `changed`.
 */
export async function nameVoicesIn(
  tx: Stores,
  { userId, id }: Named,
  pieces: readonly Piece[],
  now: number,
): Promise<{ pieces: Piece[]; changed: Segment[] }> {
  const known = new Map((await tx.voices.list(userId, id)).map(voice => [voice.speakerId, voice]));
  const changed: Segment[] = [];
  for (const { voice: heard } of pieces) {
    if (!heard) continue;
    const { speakerId, space, vector, seconds, match, isCompared } = heard;
    const before = known.get(speakerId) ?? nobody(userId, id, speakerId);
    const isNew = match !== null && !before.isChosen;
    const after = { ...before, ...(isNew ? match : {}), space, vector, seconds, updatedAt: now };
    known.set(speakerId, after);
    await tx.voices.put(after);
    if (isNew || isCompared) changed.push(...(await changeIn(tx, after, isNew ? match : null, isCompared)));
  }
  const named = pieces.map(piece => {
    const voice = known.get(piece.voice?.speakerId ?? piece.speakerId ?? numberOf(piece.speaker));
    if (!voice || piece.isUser !== undefined || piece.personId != null) return piece;
    return { ...piece, isUser: voice.isUser, personId: voice.personId };
  });
  return { pieces: named, changed };
}

/** Also teaches how that person sounds: nothing else does. `not_found`, `locked`. */
export async function assignSpeakerIn(
  tx: Stores,
  { userId, id }: Named,
  { speakerId, personId, segmentIds = [] }: SpeakerAssignment,
  now: number,
): Promise<Segment[]> {
  const conversation = await writable(tx, userId, id);
  const said = await saidBy(tx, userId, personId);
  const voices = await tx.voices.list(userId, id);
  const before = voices.find(voice => voice.speakerId === speakerId) ?? nobody(userId, id, speakerId);
  const voice = { ...before, ...said, isChosen: true, updatedAt: now };
  await tx.voices.put(voice);
  await learnIn(tx, voice, personId !== null, now);
  const changed = await changeIn(tx, voice, said, false);
  for (const segmentId of new Set(segmentIds)) {
    const segment = isId(segmentId) ? await tx.segments.get(userId, segmentId) : null;
    if (segment?.conversationId === id && isOther(segment, said)) changed.push({ ...segment, ...said });
  }
  const segments = [...new Map(changed.map(segment => [segment.id, segment])).values()];
  await tx.segments.upsert(segments);
  if (segments.length > 0 && conversation.status !== 'in_progress')
    await reprocessIn(tx, conversation, now + REPROCESS_AFTER_MS);
  return segments;
}

/** One sample of each voice of a conversation: whoever it is of now. */
async function learnIn(tx: Stores, voice: Voice, isSomeone: boolean, now: number): Promise<void> {
  const { userId, conversationId, speakerId, space, vector, seconds } = voice;
  const all = await tx.voices.samples(userId);
  for (const sample of all)
    if (sample.conversationId === conversationId && sample.speakerId === speakerId)
      await tx.voices.removeSample(userId, sample.id);
  if (!isSomeone || !vector || space === null || seconds < SAMPLE_SECONDS) return;
  const own = all.filter(
    sample => sample.personId === voice.personId && sample.space === space && isLearnt(sample),
  );
  for (const { id } of own.slice(0, Math.max(0, own.length + 1 - MAX_SAMPLES)))
    await tx.voices.removeSample(userId, id);
  const { personId } = voice;
  const place = { conversationId, speakerId };
  await tx.voices.putSample({
    id: newId(now),
    userId,
    personId,
    space,
    vector,
    seconds,
    ...place,
    createdAt: now,
  });
}

/** Not recorded by the owner, which makes no room for anything. */
function isLearnt({ conversationId }: VoiceSample): boolean {
  return conversationId !== null;
}

/** Reassigns the segments of a voice, and returns those that changed. */
async function changeIn(
  tx: Stores,
  voice: Voice,
  match: Match | null,
  isCompared: boolean,
): Promise<Segment[]> {
  const { userId, conversationId, speakerId } = voice;
  const changed = (await tx.segments.ofSpeaker(userId, conversationId, speakerId)).flatMap(segment => {
    const isNamed = match !== null && isOther(segment, match);
    if (!isNamed && (!isCompared || segment.profileCompared)) return [];
    return [
      { ...segment, ...(isNamed ? match : {}), profileCompared: segment.profileCompared || isCompared },
    ];
  });
  await tx.segments.upsert(changed);
  return changed;
}

function isOther(segment: Segment, { isUser, personId }: Match): boolean {
  return segment.isUser !== isUser || segment.personId !== personId;
}

function nobody(userId: string, conversationId: string, speakerId: number): Voice {
  return {
    ...{ userId, conversationId, speakerId, space: null, vector: null, seconds: 0 },
    ...{ isUser: false, personId: null, isChosen: false, updatedAt: 0 },
  };
}
