/** Assigns voices to people: each step inside a transaction of its caller. */

import type { Segment, Voice, VoiceAssignment, VoiceSample } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';
import { isId, newId } from '../ids.ts';
import type { Match } from '../speech/voices.ts';
import { saidBy } from './corrections.ts';
import { writable } from './edits.ts';
import { reprocessIn } from './lifecycle.ts';
import { numberOf, type Piece } from './segments.ts';

/** Maximum stored samples of one person; the oldest is deleted. */
const MAX_SAMPLES = 20;
/** Seconds of speech that a sample needs. */
const SAMPLE_SECONDS = 2;
/** From the last assignment until the conversation is processed again. */
export const REPROCESS_AFTER_MS = 10_000;

export interface SpeakerAssignment {
  speakerId: number;
  /** `user`: the owner; null: nobody that is known. */
  personId: string | null;
  /** Further segments to assign to this person, whoever they were attributed to. */
  segmentIds?: readonly string[];
}

interface Named {
  userId: string;
  /** Id of the conversation. */
  id: string;
}

/**
 * Assigns the names of known voices to pieces, and stores updates to the voices. Earlier segments of a voice that is
 * recognised only now get its name as well: they are in `changed`.
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

/**
 * Also stores a sample of the person's voice. The previous state is kept as long as the assignment can be undone.
 * `not_found`, `locked`.
 * @param since the voice is named in all conversations from then on, by a job; null: only in this one
 */
export async function assignSpeakerIn(
  tx: Stores,
  { userId, id }: Named,
  { speakerId, personId, segmentIds = [] }: SpeakerAssignment,
  now: number,
  since: number | null = null,
): Promise<{ assignment: VoiceAssignment; segments: Segment[] }> {
  const conversation = await writable(tx, userId, id);
  const said = await saidBy(tx, userId, personId);
  const voices = await tx.voices.list(userId, id);
  const voice = voices.find(each => each.speakerId === speakerId) ?? nobody(userId, id, speakerId);
  const assignment: VoiceAssignment = {
    id: newId(now),
    userId,
    conversationId: id,
    speakerId,
    ...said,
    since,
    createdAt: now,
    state: since === null ? 'done' : 'running',
    conversations: 0,
    segments: 0,
  };
  await tx.voices.putAssignment(assignment);
  const segments = await changeVoiceIn(tx, assignment.id, voice, said, now, new Set(segmentIds));
  await learnIn(tx, { ...voice, ...said }, personId !== null, now);
  const counted = { ...assignment, conversations: segments.length > 0 ? 1 : 0, segments: segments.length };
  await tx.voices.putAssignment(counted);
  if (segments.length > 0 && conversation.status !== 'in_progress')
    await reprocessIn(tx, conversation, now + REPROCESS_AFTER_MS);
  return { assignment: counted, segments };
}

/**
 * Assigns a voice of a conversation to a person, and records the previous state. Returns the changed segments.
 * @param segmentIds further segments to assign to this person, whoever they were attributed to
 */
export async function changeVoiceIn(
  tx: Stores,
  assignmentId: string,
  voice: Voice,
  said: Match,
  now: number,
  segmentIds: ReadonlySet<string> = new Set(),
): Promise<Segment[]> {
  const { userId, conversationId, speakerId, isUser, personId, isChosen } = voice;
  const before = await tx.segments.ofSpeaker(userId, conversationId, speakerId);
  for (const id of segmentIds) {
    const segment = isId(id) ? await tx.segments.get(userId, id) : null;
    if (segment?.conversationId === conversationId && segment.speakerId !== speakerId) before.push(segment);
  }
  const others = before.filter(segment => isOther(segment, said));
  const changed = others.map(segment => ({ ...segment, ...said }));
  await tx.voices.put({ ...voice, ...said, isChosen: true, updatedAt: now });
  await tx.segments.upsert(changed);
  await tx.voices.putChange({
    userId,
    assignmentId,
    conversationId,
    speakerId,
    isUser,
    personId,
    isChosen,
    segments: others.map(segment => ({ id: segment.id, isUser: segment.isUser, personId: segment.personId })),
  });
  return changed;
}

/** Keeps one sample of each voice of a conversation, for its current person. */
export async function learnIn(tx: Stores, voice: Voice, isSomeone: boolean, now: number): Promise<void> {
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

/** Samples that were not recorded by the owner; only these are deleted to make room. */
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
    userId,
    conversationId,
    speakerId,
    space: null,
    vector: null,
    seconds: 0,
    isUser: false,
    personId: null,
    isChosen: false,
    updatedAt: 0,
  };
}
