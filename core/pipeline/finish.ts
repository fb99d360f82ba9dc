import { z } from 'zod';
import type { Clock, Conversation, Job, Structured } from '../contract/model.ts';
import type { Heard } from '../domain/conversations/conclusions.ts';
import type { Conversations } from '../domain/conversations/conversations.ts';
import { silenceEnd } from '../domain/conversations/lifecycle.ts';
import type { Marks } from '../domain/conversations/marks.ts';
import { progressIn, progressOf } from '../domain/tasks/heard-goals.ts';
import type { JobHandler } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import { othersTurn } from '../runtime/pace.ts';
import { type ContextDeps, contextOf, MAX_GOALS } from './context.ts';
import { folderOf } from './filing.ts';
import { ofPhotos } from './photos.ts';
import type { Remember } from './remember.ts';
import { spoken, type Understand } from './understanding.ts';

const Payload = z.object({ userId: z.string(), conversationId: z.string() });

export interface PipelineDeps extends ContextDeps {
  conversations: Conversations;
  marks: Pick<Marks, 'markedIn'>;
  understand: Understand;
  remember: Remember;
  /** Absent: there is no second recognition pass. */
  finalPass?: { settled(conversationId: string, signal: AbortSignal): Promise<void> };
  clock: Clock;
  log: Log;
}

/**
 * Understands a conversation in its present form; null: nothing in it is worth keeping.
 * @param present the plugin that made the present structure: only plugins preferred to it are asked, and
 * itself
 */
export async function understood(
  conversation: Conversation,
  deps: PipelineDeps,
  signal: AbortSignal,
  present?: string,
): Promise<({ structured: Structured } & Heard) | null> {
  const { conversations, goals, users, marks, understand, remember, log } = deps;
  const { userId, id } = conversation;
  const context = await contextOf(conversation, deps);
  const segments = await conversations.segments(userId, [id]);
  const nameOf = await conversations.speakerNames(await users.get(userId));
  const marked = await marks.markedIn(conversation, segments);
  const outcome =
    segments.length === 0
      ? null
      : await understand(spoken(segments, conversation, nameOf, marked), context, signal, present);
  if (outcome === null) return ofPhotos(await conversations.photos(userId, id));
  const { structured, memories, folder: named, progress } = outcome;
  await othersTurn(); // each step below takes milliseconds where the transcript is long
  const folders = await conversations.folders(userId);
  const folder = await folderOf(structured, named, folders, context.embedder, signal).catch(error => {
    signal.throwIfAborted();
    log.warn({ err: error, conversation: id }, 'no folder could be looked for by meaning');
    return null;
  });
  const open = await goals.list(userId, { active: true, limit: MAX_GOALS, offset: 0 });
  const found = await progressIn(segments, open);
  const known = new Set(found.map(({ goalId }) => goalId));
  await othersTurn();
  return {
    structured: { ...structured, folderId: folder?.id ?? null },
    memories: await remember(conversation, segments, memories, signal),
    progress: [
      ...found,
      ...progressOf(
        progress,
        segments,
        open.filter(({ id: goal }) => !known.has(goal)),
      ),
    ],
  };
}

/**
 * Builds the job that follows a conversation to its end: waits for its silence, then has it understood. Each step is
 * one transaction that counts once, so a run that was cut off anywhere is simply run again. While understanding fails
 * the conversation is `processing`. One in which nothing was said is discarded.
 */
export function createFinish(deps: PipelineDeps): JobHandler {
  const { conversations, log } = deps;

  async function process(conversation: Conversation, signal: AbortSignal): Promise<void> {
    const { userId, id } = conversation;
    const outcome = await understood(conversation, deps, signal);
    signal.throwIfAborted(); // the server stops: a later run continues
    if (outcome === null) await conversations.discard(userId, id);
    else await conversations.complete(userId, id, outcome.structured, outcome);
  }

  return async (job, signal) => {
    const { userId, conversationId } = Payload.parse(job.payload);
    await conversations.finishIfSilent(userId, conversationId);
    const conversation = await conversations.get(userId, conversationId);
    if (conversation?.status === 'in_progress') return { again: silenceEnd(conversation) };
    if (conversation?.status !== 'processing') return;
    await deps.finalPass?.settled(conversationId, signal);
    log.debug({ conversation: conversation.id }, 'making the structure of a conversation');
    await process(conversation, signal);
  };
}

/** Marks a conversation whose job is given up as `failed`; its transcript stays. */
export function createGivenUp(conversations: Conversations): (job: Job) => Promise<void> {
  return async job => {
    const { userId, conversationId } = Payload.parse(job.payload);
    await conversations.fail(userId, conversationId);
  };
}
