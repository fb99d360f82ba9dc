import { z } from 'zod';
import type { Job } from '../contract/model.ts';
import { AppError } from '../runtime/errors.ts';
import type { JobHandler } from '../runtime/jobs.ts';
import { type PipelineDeps, understood } from './finish.ts';

const Payload = z.object({
  userId: z.string(),
  conversationId: z.string(),
  notBefore: z.number().default(0),
});
/** Wait before another look at a conversation that is still being processed. */
const BUSY_MS = 5000;

/**
 * Builds the job that makes the structure of a conversation anew, which stays `completed` meanwhile: after a correction,
 * on demand, or because a better plugin failed the first time. A worse plugin than the one that made what there is does
 * not replace it. Fails, and is tried again, while a better one than answers now may do it another time.
 */
export function createReprocess(deps: PipelineDeps): JobHandler {
  const { conversations, clock, log } = deps;

  return async (job, signal) => {
    const { userId, conversationId, notBefore } = Payload.parse(job.payload);
    if (notBefore > clock.now()) return { again: notBefore }; // corrected again in the meantime
    const conversation = await conversations.get(userId, conversationId);
    if (!conversation || conversation.status === 'in_progress') return;
    if (conversation.status === 'processing') return { again: clock.now() + BUSY_MS };
    log.debug({ conversation: conversationId }, 'making the structure of a conversation anew');
    const outcome = await understood(conversation, deps, signal, conversation.structured.by?.plugin);
    signal.throwIfAborted();
    await conversations.revise(userId, conversationId, outcome?.structured ?? null, outcome ?? undefined);
    if (outcome?.structured.by?.provisional)
      throw new AppError('unavailable', 'A better plugin than the one that answered does not work now');
  };
}

/** Leaves the conversation as it is; nothing more is attempted. */
export function createReprocessGivenUp({ conversations }: Pick<PipelineDeps, 'conversations'>) {
  return async (job: Job): Promise<void> => {
    const { userId, conversationId } = Payload.parse(job.payload);
    await conversations.settle(userId, conversationId);
  };
}
