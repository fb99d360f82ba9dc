/** What leaves the house begins here, as a stored job in the transaction of its cause. */
import type { ChannelAddress, Delivery } from '../model.ts';
import type { NotificationMessage, Stores } from '../plugin.ts';
import { deliverIn } from './deliveries.ts';
import { newId } from './ids.ts';

/** Sums up what a user's day had, once it is time; its key is the user. */
const DAY_JOB = 'day_summary';

/** A message to each of these addresses. */
export async function sendIn(
  tx: Stores,
  message: NotificationMessage & { userId: string; appId: string | null },
  addresses: readonly ChannelAddress[],
  now: number,
): Promise<void> {
  const { userId, appId, ...body } = message;
  const deliveries = addresses.map(
    (address): Delivery => ({
      id: newId(now),
      userId,
      targetKind: 'channel',
      targetId: address.id,
      appId,
      type: body.event,
      subject: body.id,
      state: 'pending',
      query: '',
      contentType: 'application/json',
      body: JSON.stringify(body),
      attempts: 0,
      nextAt: now,
      createdAt: now,
      endedAt: null,
      replayOf: null,
    }),
  );
  await deliverIn(tx, deliveries);
}

/** There may be something to sum up, or at another time than before: the job looks, and waits for the right time. */
export function lookAtDayIn(tx: Stores, userId: string, now: number): Promise<void> {
  return tx.jobs.enqueue({ kind: DAY_JOB, key: userId, runAt: now, payload: { userId } });
}
