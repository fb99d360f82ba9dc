import { z } from 'zod';
import type { Delivery, DeliveryAttempt, LoggedDelivery } from '../../contract/model.ts';
import type { Deliveries } from '../../domain/apps/deliveries.ts';
import { inPagesBefore, mapped } from '../../domain/pages.ts';
import { choice, integer, word } from '../query.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/deliveries';
const ONE = '/v1/deliveries/{delivery_id}';
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;

const dateTime = z.iso.datetime();
const STATES = ['pending', 'delivered', 'failed', 'dropped'] as const;

const RECORD = {
  id: z.string().describe('Also the webhook-id that the receiver sees'),
  target_kind: z.enum(['hook', 'channel']),
  target_id: z.string().describe('Of the webhook, or of the address of a channel; it may be gone'),
  app_id: z.string().nullable().describe('The app that it goes to'),
  type: z.string().describe('Of the webhook, or the event that is told of'),
  subject: z.string().describe('What it is about: the id of a conversation or notification, or a day'),
  state: z.enum(STATES).describe('pending: tried again at next_at. dropped: it was about now, and too late'),
  attempts: z.int(),
  next_at: dateTime.nullable(),
  created_at: dateTime,
  ended_at: dateTime.nullable(),
  replay_of: z.string().nullable().describe('The delivery that this one repeats'),
};
const DeliveryJson = z.object(RECORD).meta({ id: 'Delivery' });

const AttemptJson = z
  .object({
    number: z.int(),
    at: dateTime,
    took_ms: z.int(),
    status: z.int().nullable().describe('Of the HTTP answer; null: there was none'),
    error: z.string().nullable().describe('What went wrong; null: nothing'),
    answer: z.string().nullable().describe('The first KiB of the answer'),
  })
  .meta({ id: 'DeliveryAttempt' });

const WholeDeliveryJson = z
  .object({
    ...RECORD,
    query: z.string(),
    content_type: z.string(),
    body: z.string().nullable().describe('What is sent; null: it was not kept'),
    tries: z.array(AttemptJson).describe('By number'),
  })
  .meta({ id: 'DeliveryWithAttempts' });

/** Deliveries to webhooks and channels, and their outcomes. */
export function deliveryRoutes(deliveries: Deliveries): Route[] {
  const common = { tag: 'Deliveries', credential: 'idToken' } as const;
  const one = { params: z.object({ delivery_id: z.string() }), query: z.object({}) };
  return [
    route({
      ...common,
      method: 'get',
      id: 'listDeliveries',
      path: LIST,
      summary: 'List deliveries about you, or to a webhook of your app, newest first',
      params: z.object({}),
      query: z.object({
        target_id: word().meta({ description: 'To this webhook or address alone' }),
        state: choice(STATES),
        before: word().meta({ description: 'An id: those that were made before it' }),
        limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
      }),
      response: z.array(DeliveryJson),
      async handle({ principal: { user }, query: { target_id: targetId, state, before: beforeId, limit } }) {
        const load = (part: typeof page) => deliveries.list(user.id, { targetId, state, ...part });
        const page = { limit, beforeId };
        return mapped(inPagesBefore(load, page), toJson);
      },
    }),
    route({
      ...common,
      ...one,
      method: 'get',
      id: 'getDelivery',
      path: ONE,
      summary: 'Get a delivery with every attempt',
      errors: ['not_found'],
      response: WholeDeliveryJson,
      async handle({ principal: { user }, params }) {
        const { delivery, attempts } = await deliveries.get(user.id, params.delivery_id);
        const { query, contentType: content_type, body } = delivery;
        return { ...toJson(delivery), query, content_type, body, tries: attempts.map(attemptJson) };
      },
    }),
    route({
      ...common,
      ...one,
      method: 'post',
      id: 'replayDelivery',
      path: `${ONE}/replay`,
      summary: 'Send it once more, as a new delivery',
      errors: ['not_found', 'conflict'],
      response: DeliveryJson,
      handle: async ({ principal: { user }, params }) =>
        toJson(await deliveries.replay(user.id, params.delivery_id)),
    }),
  ];
}

function toJson(delivery: LoggedDelivery | Delivery): z.input<typeof DeliveryJson> {
  const { id, type, subject, state, attempts } = delivery;
  return {
    id,
    target_kind: delivery.targetKind,
    target_id: delivery.targetId,
    app_id: delivery.appId,
    type,
    subject,
    state,
    attempts,
    next_at: toIso(delivery.nextAt),
    created_at: new Date(delivery.createdAt).toISOString(),
    ended_at: toIso(delivery.endedAt),
    replay_of: delivery.replayOf,
  };
}

function attemptJson({ number, at, tookMs, status, error, answer }: DeliveryAttempt) {
  return { number, at: new Date(at).toISOString(), took_ms: tookMs, status, error, answer };
}

function toIso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
