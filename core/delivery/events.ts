import { z } from 'zod';
import type { Clock, Delivery, Hook } from '../contract/model.ts';
import type { Storage, Stores, WebhookEvent, WebhookRequest, WebhookType } from '../contract/plugin.ts';
import { deliverIn } from '../domain/apps/deliveries.ts';
import type { Conversations } from '../domain/conversations/conversations.ts';
import { createPresenter } from '../domain/conversations/present.ts';
import { newId } from '../domain/ids.ts';
import { AppError } from '../runtime/errors.ts';
import type { JobHandler } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';

/** The kinds of webhooks that are available now. */
export type WebhookTypes = () => readonly WebhookType[];

const Payload = z.discriminatedUnion('trigger', [
  z.object({ trigger: z.literal('conversation'), userId: z.string(), conversationId: z.string() }),
  z.object({
    trigger: z.literal('device'),
    userId: z.string(),
    happenings: z.array(
      z.object({
        deviceId: z.string(),
        kind: z.enum(['connected', 'disconnected', 'battery_low', 'button', 'changed', 'removed']),
        wire: z.record(z.string(), z.unknown()),
      }),
    ),
  }),
]);

export type FanOut = ReturnType<typeof createFanOut>;

/** Turns events into deliveries: one for each hook that receives them. */
export function createFanOut({
  storage,
  clock,
  conversations,
  webhooks,
  log,
}: {
  storage: Storage;
  clock: Clock;
  conversations: Conversations;
  webhooks: WebhookTypes;
  log: Log;
}) {
  const { presentOne } = createPresenter(conversations);

  /** In order; none: it was removed, or must not be sent any more. */
  async function eventsOf(cause: z.output<typeof Payload>): Promise<WebhookEvent[]> {
    const { userId } = cause;
    const user = await storage.users.get(userId);
    if (!user) return [];
    if (cause.trigger === 'device')
      return cause.happenings.map(each => ({ trigger: 'device', userId, ...each }));
    const conversation = await conversations.get(userId, cause.conversationId);
    if (!conversation || conversation.discarded || conversation.locked) return [];
    if (conversation.status === 'processing') throw new AppError('unavailable', 'It is processed once more');
    const wire = await presentOne(user, conversation, true);
    return [{ trigger: 'conversation', userId, conversation, wire }];
  }

  /** Renders requests. The result is a step that stores and sends them, inside the caller's transaction. */
  async function deliveriesOf(event: WebhookEvent): Promise<(tx: Stores) => Promise<void>> {
    const requests = await requestsTo(storage, webhooks, event, log);
    const now = clock.now();
    const deliveries = requests.map(({ hook, request }): Delivery => {
      const body = typeof request.body === 'string' ? request.body : Buffer.from(request.body).toString();
      return { ...deliveryTo(hook, event, request, now), body };
    });
    return tx => deliverIn(tx, deliveries);
  }

  return {
    /** Handler of `FAN_OUT_JOB`. */
    handle: (async ({ payload }) => {
      const steps: ((tx: Stores) => Promise<void>)[] = [];
      for (const event of await eventsOf(Payload.parse(payload))) steps.push(await deliveriesOf(event));
      return {
        async commit(tx) {
          for (const step of steps) await step(tx);
        },
      };
    }) satisfies JobHandler,
    deliveriesOf,
  };
}

/**
 * Renders the requests to the webhooks that receive this event. A type of webhook that fails is logged, and does not
 * affect the others.
 */
async function requestsTo(
  storage: Storage,
  webhooks: WebhookTypes,
  event: WebhookEvent,
  log: Log,
): Promise<{ hook: Hook; request: WebhookRequest; webhook: WebhookType }[]> {
  const kinds = webhooks().filter(({ trigger }) => trigger === event.trigger);
  if (kinds.length === 0) return [];
  const hooks = await storage.hooks.targets(
    event.userId,
    kinds.map(({ type }) => type),
  );
  return hooks.flatMap(hook => {
    const webhook = kinds.find(({ type }) => type === hook.type);
    const request = webhook && render(webhook, event, log);
    return webhook && request ? [{ hook, request, webhook }] : [];
  });
}

export function render(webhook: WebhookType, event: WebhookEvent, log: Log): WebhookRequest | null {
  try {
    return webhook.render(event);
  } catch (error) {
    log.error({ err: error, type: webhook.type }, 'a webhook could not be made');
    return null;
  }
}

/** A pending delivery, due at once, still without its body. */
export function deliveryTo(
  { id: targetId, appId, type }: Hook,
  event: WebhookEvent,
  { query, contentType }: WebhookRequest,
  now: number,
): Delivery {
  return {
    id: newId(now),
    userId: event.userId,
    targetKind: 'hook',
    targetId,
    appId,
    type,
    subject: subjectOf(event),
    state: 'pending',
    query: new URLSearchParams(query).toString(),
    contentType,
    body: null,
    attempts: 0,
    nextAt: now,
    createdAt: now,
    endedAt: null,
    replayOf: null,
  };
}

function subjectOf(event: WebhookEvent): string {
  switch (event.trigger) {
    case 'conversation':
      return event.conversation.id;
    case 'segments':
      return event.conversationId;
    case 'day':
      return event.day;
    case 'device':
      return event.deviceId;
    case 'audio':
      return '';
  }
}
