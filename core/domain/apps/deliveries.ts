/** Deliveries: their causes, and the log of their outcomes. */

import type {
  Clock,
  Conversation,
  Delivery,
  DeliveryAttempt,
  DeviceHappening,
  LoggedDelivery,
} from '../../contract/model.ts';
import type { DeliveryFilter, Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { isId, newId } from '../ids.ts';

/** Job that sends an event to webhooks. Its key identifies the event, its payload is a `Cause`. */
export const FAN_OUT_JOB = 'deliver.fan_out';
/** Job that sends the pending deliveries of one target in order; its key is the hook or the address. */
export const DELIVER_JOB = 'deliver';

/** Job that sums up a user's day at the set time; its key is the user. */
export const DAY_JOB = 'day_summary';

export type Cause =
  | { trigger: 'conversation'; userId: string; conversationId: string }
  | { trigger: 'device'; userId: string; happenings: ToldHappening[] };

/** Event of a wearable; `wire` is the form in webhooks. */
export interface ToldHappening {
  deviceId: string;
  kind: DeviceHappening['kind'];
  wire: Record<string, unknown>;
}

const PRUNED_AT_ONCE = 500;

/**
 * Causes the event of a completed conversation once, however often it is processed; part of the transaction that
 * completes it.
 */
export async function tellOfConversationIn(
  tx: Stores,
  { userId, id }: Pick<Conversation, 'userId' | 'id'>,
  now: number,
): Promise<void> {
  if (!(await tx.claims.take(userId, `told ${id}`, now))) return;
  const payload = { trigger: 'conversation', userId, conversationId: id } satisfies Cause;
  await tx.jobs.enqueue({ kind: FAN_OUT_JOB, key: `conversation ${id}`, runAt: now, payload });
}

/** Causes events in this order, each with the state of its wearable at that time. */
export async function tellOfDevicesIn(
  tx: Stores,
  userId: string,
  happenings: ToldHappening[],
  now: number,
): Promise<void> {
  if (happenings.length === 0) return;
  const payload = { trigger: 'device', userId, happenings } satisfies Cause;
  await tx.jobs.enqueue({ kind: FAN_OUT_JOB, key: `device ${newId(now)}`, runAt: now, payload });
}

/**
 * Called when there may be something to sum up, or at another time than before: the job checks, and waits for the
 * right time.
 */
export function lookAtDayIn(tx: Stores, userId: string, now: number): Promise<void> {
  return tx.jobs.enqueue({ kind: DAY_JOB, key: userId, runAt: now, payload: { userId } });
}

/** Stores deliveries, and enqueues the jobs of their targets. */
export async function deliverIn(tx: Stores, deliveries: readonly Delivery[]): Promise<void> {
  await tx.deliveries.insert(deliveries);
  const targets = new Map(deliveries.map(delivery => [delivery.targetId, delivery]));
  for (const [key, { targetKind, createdAt }] of targets)
    await tx.jobs.enqueue({ kind: DELIVER_JOB, key, runAt: createdAt, payload: { targetKind } });
}

export type Deliveries = ReturnType<typeof createDeliveries>;

/** The log of deliveries, as shown to users. */
export function createDeliveries({ storage, clock }: { storage: Storage; clock: Clock }) {
  /** Lists deliveries, newest first: those about this user or, for a target of their own app, those about anyone. */
  async function list(userId: string, filter: DeliveryFilter): Promise<LoggedDelivery[]> {
    const { targetId, beforeId } = filter;
    if ([targetId, beforeId].some(id => id !== undefined && !isId(id))) return [];
    const own = targetId === undefined ? null : await storage.hooks.get(userId, targetId);
    if (own?.appId) return storage.deliveries.listOfApp(own.appId, filter);
    return storage.deliveries.list(userId, filter);
  }

  /** `not_found`. */
  async function get(
    userId: string,
    id: string,
  ): Promise<{ delivery: Delivery; attempts: DeliveryAttempt[] }> {
    const delivery = await deliveryIn(storage, userId, id);
    return { delivery, attempts: await storage.deliveries.attempts(userId, id) };
  }

  /** Repeats a delivery as a new one. `not_found`; `conflict` where it cannot be sent. */
  async function replay(userId: string, id: string): Promise<Delivery> {
    const now = clock.now();
    const again = await storage.transaction('replay delivery', async tx => {
      const delivery = await deliveryIn(tx, userId, id);
      await refuseUnsendable(tx, delivery);
      const copy: Delivery = {
        ...delivery,
        id: newId(now),
        state: 'pending',
        attempts: 0,
        nextAt: now,
        createdAt: now,
        endedAt: null,
        replayOf: id,
      };
      await deliverIn(tx, [copy]);
      return copy;
    });
    return again;
  }

  return {
    list,
    get,
    replay,
    /** Deletes finished deliveries that were created before this time (epoch ms). */
    async prune(before: number): Promise<void> {
      while ((await storage.deliveries.prune(before, PRUNED_AT_ONCE)) === PRUNED_AT_ONCE);
    },
  };
}

async function deliveryIn(stores: Stores, userId: string, id: string): Promise<Delivery> {
  const found = isId(id) ? await stores.deliveries.get(userId, id) : null;
  if (!found) throw new AppError('not_found', 'Delivery not found');
  return found;
}

async function refuseUnsendable(tx: Stores, delivery: Delivery): Promise<void> {
  const { userId, targetKind, targetId, appId, body } = delivery;
  if (body === null) throw new AppError('conflict', 'Its body was not stored, so it cannot be sent again');
  const stores = { hook: tx.hooks, channel: tx.channelAddresses };
  const target = await stores[targetKind].target(targetId);
  if (!target) throw new AppError('conflict', 'Its webhook or address no longer exists');
  if (!target.enabled) throw new AppError('conflict', 'Its webhook or address is disabled: enable it first');
  if (targetKind !== 'hook' || appId === null || (await tx.installations.get(userId, appId))) return;
  throw new AppError('conflict', 'The receiving app is no longer installed');
}
