/** Assignments of voices to people, in one conversation or in many, and undoing them. */

import type { Clock, Segment, Voice, VoiceAssignment, VoiceChange } from '../../contract/model.ts';
import type { SpeakerModel, Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import type { JobHandler } from '../../runtime/jobs.ts';
import { isId } from '../ids.ts';
import { likeness } from '../speech/voice-clusters.ts';
import { reprocessIn } from './lifecycle.ts';
import {
  assignSpeakerIn,
  changeVoiceIn,
  learnIn,
  REPROCESS_AFTER_MS,
  type SpeakerAssignment,
} from './speakers.ts';

/** The durable job that names a voice in many conversations; its key is the assignment. */
export const VOICE_JOB = 'voices.assign';
/** How long an assignment can be undone. */
const UNDO_MS = 7 * 24 * 3_600_000;
const DAY_MS = 24 * 3_600_000;
const PAGE = 50;
const LISTED = 100;

export type VoiceAssignments = ReturnType<typeof createVoiceAssignments>;

export function createVoiceAssignments({
  storage,
  speakers,
  events,
  clock,
}: {
  storage: Storage;
  /** Null: none runs now. */
  speakers(): SpeakerModel | null;
  events: EventBus;
  clock: Clock;
}) {
  /**
   * Assigns a speaker of a conversation to a person. `not_found`, `locked`, `conflict` if the voice has no vector.
   * @param days the voice is also named in every conversation of so many days back, in the background; null: only in this one
   */
  async function assign(
    userId: string,
    id: string,
    said: SpeakerAssignment,
    days: number | null,
  ): Promise<VoiceAssignment> {
    const now = clock.now();
    const since = days === null ? null : now - days * DAY_MS;
    const { assignment, segments } = await storage.transaction('assign speaker', async tx => {
      const assigned = await assignSpeakerIn(tx, { userId, id }, said, now, since);
      if (since === null) return assigned;
      await referenceIn(tx, assigned.assignment);
      const payload = { userId, assignmentId: assigned.assignment.id };
      await tx.jobs.enqueue({ kind: VOICE_JOB, key: assigned.assignment.id, runAt: now, payload });
      return assigned;
    });
    tell(userId, id, segments);
    return assignment;
  }

  function tell(userId: string, conversationId: string, segments: Segment[]): void {
    if (segments.length > 0) events.emit('segments', { userId, conversationId, segments });
  }

  /** Names the voice in each conversation of the requested period. */
  const run: JobHandler = async ({ payload }, signal) => {
    const userId = String(payload.userId);
    const found = await storage.voices.assignment(userId, String(payload.assignmentId));
    if (found?.state !== 'running' || found.since === null) return;
    const model = speakers();
    if (!model) throw new AppError('unavailable', 'No speaker model works now');
    const reference = await referenceIn(storage, found);
    let after: Voice | null = null;
    for (;;) {
      signal.throwIfAborted();
      const page: Voice[] = await storage.voices.page(userId, model.id, {
        since: found.since,
        after,
        limit: PAGE,
      });
      for (const voice of page) if (isSame(voice, reference, model)) await assignOther(found, voice);
      after = page.at(-1) ?? null;
      if (page.length < PAGE) break;
    }
    return { commit: tx => concludeIn(tx, found) };
  };

  /** A voice that the owner has named is not changed. */
  async function assignOther(
    assignment: VoiceAssignment,
    { conversationId, speakerId }: Voice,
  ): Promise<void> {
    const { userId, isUser, personId } = assignment;
    const segments = await storage.transaction('assign voice', async tx => {
      const conversation = await tx.conversations.get(userId, conversationId);
      const voices = await tx.voices.list(userId, conversationId);
      const voice = voices.find(each => each.speakerId === speakerId);
      const current = await tx.voices.assignment(userId, assignment.id);
      if (!conversation || conversation.locked || !voice || voice.isChosen || current?.state !== 'running')
        return [];
      const changed = await changeVoiceIn(tx, assignment.id, voice, { isUser, personId }, clock.now());
      if (changed.length > 0 && conversation.status !== 'in_progress')
        await reprocessIn(tx, conversation, clock.now() + REPROCESS_AFTER_MS);
      return changed;
    });
    tell(userId, conversationId, segments);
  }

  /**
   * Undoes an assignment: segments get their previous names, and its voice samples are deleted. Later assignments stay.
   * `not_found`, `conflict` after seven days, or while it is still running.
   */
  async function undo(userId: string, id: string): Promise<VoiceAssignment> {
    const { undone, changed } = await storage.transaction('undo assignment', async tx => {
      const found = await findIn(tx, userId, id);
      if (found.state === 'undone') return { undone: found, changed: [] };
      if (found.state === 'running')
        throw new AppError('conflict', 'It is still being carried out: undo it when it is done');
      if (clock.now() > found.createdAt + UNDO_MS)
        throw new AppError('conflict', 'An assignment can be undone for 7 days: assign the speaker anew');
      const changed: Segment[] = [];
      for (const change of await tx.voices.changes(userId, id))
        changed.push(...(await restoreIn(tx, found, change, clock.now())));
      const undone = { ...found, state: 'undone' as const };
      await tx.voices.putAssignment(undone);
      return { undone, changed };
    });
    for (const [conversationId, segments] of Map.groupBy(changed, each => each.conversationId))
      tell(userId, conversationId, segments);
    return undone;
  }

  return {
    assign,
    undo,
    run,
    /** Stops a running assignment: changes so far stay, and can be undone. */
    async givenUp({ payload }: Parameters<JobHandler>[0]): Promise<void> {
      const userId = String(payload.userId);
      await storage.transaction('end assignment', async tx => {
        const found = await tx.voices.assignment(userId, String(payload.assignmentId));
        if (found) await concludeIn(tx, found);
      });
    },
    /** `not_found`. */
    get: (userId: string, id: string): Promise<VoiceAssignment> => findIn(storage, userId, id),
    /** The newest. */
    list: (userId: string): Promise<VoiceAssignment[]> => storage.voices.assignments(userId, LISTED),
    undoableUntil: ({ createdAt }: VoiceAssignment): number => createdAt + UNDO_MS,
    prune: (): Promise<void> => storage.voices.pruneAssignments(clock.now() - UNDO_MS),
  };
}

async function findIn(
  { voices }: Pick<Stores, 'voices'>,
  userId: string,
  id: string,
): Promise<VoiceAssignment> {
  const found = isId(id) ? await voices.assignment(userId, id) : null;
  if (!found) throw new AppError('not_found', 'Assignment not found');
  return found;
}

/** The vector of the voice that was named. */
async function referenceIn(
  { voices }: Pick<Stores, 'voices'>,
  { userId, conversationId, speakerId }: VoiceAssignment,
): Promise<Voice> {
  const found = (await voices.list(userId, conversationId)).find(voice => voice.speakerId === speakerId);
  if (found?.vector) return found;
  throw new AppError('conflict', 'Nothing is known of this voice, by which others could be found');
}

/** Similarity that a name requires. */
function isSame(voice: Voice, reference: Voice, model: SpeakerModel): boolean {
  const { vector, space } = reference;
  if (!vector || !voice.vector || space !== model.id || voice.space !== model.id) return false;
  return likeness(vector, voice.vector) >= model.namedVoice;
}

async function concludeIn(tx: Stores, { userId, id }: VoiceAssignment): Promise<void> {
  const found = await tx.voices.assignment(userId, id);
  if (found?.state !== 'running') return;
  const changes = await tx.voices.changes(userId, id);
  const segments = changes.reduce((sum, change) => sum + change.segments.length, 0);
  const conversations = new Set(changes.map(change => change.conversationId)).size;
  await tx.voices.putAssignment({ ...found, state: 'done', conversations, segments });
}

/** Restores one voice where it is still as the assignment left it. Returns the changed segments. */
async function restoreIn(
  tx: Stores,
  { isUser, personId }: VoiceAssignment,
  { userId, conversationId, speakerId, segments: before, ...was }: VoiceChange,
  now: number,
): Promise<Segment[]> {
  const isAssigned = (said: { isUser: boolean; personId: string | null }) =>
    said.isUser === isUser && said.personId === personId;
  const conversation = await tx.conversations.get(userId, conversationId);
  const voice = (await tx.voices.list(userId, conversationId)).find(each => each.speakerId === speakerId);
  if (!conversation || !voice || !isAssigned(voice)) return [];
  const restored = {
    ...voice,
    isUser: was.isUser,
    personId: was.personId,
    isChosen: was.isChosen,
    updatedAt: now,
  };
  await tx.voices.put(restored);
  await learnIn(tx, restored, was.isChosen && (was.isUser || was.personId !== null), now);
  const known = new Map(before.map(segment => [segment.id, segment]));
  const said = await tx.segments.ofSpeaker(userId, conversationId, speakerId);
  const others = [...known.keys()].filter(id => !said.some(segment => segment.id === id));
  for (const id of others) {
    const segment = await tx.segments.get(userId, id);
    if (segment?.conversationId === conversationId) said.push(segment);
  }
  const changed = said.filter(isAssigned).map(segment => {
    const { isUser: wasUser, personId: wasPerson } = known.get(segment.id) ?? was;
    return { ...segment, isUser: wasUser, personId: wasPerson };
  });
  await tx.segments.upsert(changed);
  if (changed.length > 0 && conversation.status !== 'in_progress')
    await reprocessIn(tx, conversation, now + REPROCESS_AFTER_MS);
  return changed;
}
