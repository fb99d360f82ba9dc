import { z } from 'zod';
import type { Conversations } from '../domain/conversations.ts';
import { silenceEnd } from '../domain/lifecycle.ts';
import type { JobHandler } from '../jobs.ts';
import type { Log } from '../log.ts';
import type { Conversation, Job, Segment, Structured } from '../model.ts';
import { saysNothing } from './nothing.ts';
import { structure as countWords } from './structure.ts';

const Payload = z.object({ userId: z.string(), conversationId: z.string() });

/** Makes of a transcript what people read first. May fail: it is tried again. */
export type Structure = (
  segments: Segment[],
  context: { language: string | null },
) => Structured | Promise<Structured>;

/**
 * The job that follows a conversation to its end: waits for its silence, then makes its structure. Each step is one
 * transaction that counts once, so a run that was cut off anywhere is simply run again. While the structure fails the
 * conversation is `processing`. One in which nothing was said is discarded.
 */
export function createFinish({
  conversations,
  log,
  structure = countWords,
}: {
  conversations: Conversations;
  log: Log;
  structure?: Structure;
}): JobHandler {
  async function process(conversation: Conversation, signal: AbortSignal): Promise<void> {
    const { userId, id, language } = conversation;
    const segments = await conversations.segments(userId, [id]);
    if (saysNothing(segments)) return void (await conversations.discard(userId, id));
    const structured = await structure(segments, { language });
    signal.throwIfAborted(); // stopped: another run does it
    await conversations.complete(userId, id, structured);
  }

  return async (job, signal) => {
    const { userId, conversationId } = Payload.parse(job.payload);
    await conversations.finishIfSilent(userId, conversationId);
    const conversation = await conversations.get(userId, conversationId);
    if (conversation?.status === 'in_progress') return { again: silenceEnd(conversation) };
    if (conversation?.status !== 'processing') return;
    log.debug({ conversation: conversation.id }, 'making the structure of a conversation');
    await process(conversation, signal);
  };
}

/** What becomes of a conversation whose job is given up: it is `failed`, and its transcript stays. */
export function createGivenUp(conversations: Conversations): (job: Job) => Promise<void> {
  return async job => {
    const { userId, conversationId } = Payload.parse(job.payload);
    await conversations.fail(userId, conversationId);
  };
}
