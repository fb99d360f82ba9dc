import { z } from 'zod';
import type { Delivery, DeliveryAttempt, LoggedDelivery } from '../../contract/model.ts';
import type { Deliveries } from '../../domain/apps/deliveries.ts';
import { inPagesBefore } from '../../domain/pages.ts';
import { toIsoOrNull } from '../../runtime/iso.ts';
import { choice, integer, word } from '../query.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/deliveries';
const ONE = '/v1/deliveries/{delivery_id}';
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;

const dateTime = z.iso.datetime();
const STATES = ['pending', 'delivered', 'failed', 'dropped'] as const;

const RECORD = {
  id: z.string().describe('Id, which receivers see as webhook-id'),
  target_kind: z.enum(['hook', 'channel']),
  target_id: z
    .string()
    .describe('Id of the webhook or the notification address, which may be deleted by now'),
  app_id: z.string().nullable().describe('Receiving app'),
  type: z.string().describe('Type of the webhook, or event of the notification'),
  subject: z.string().describe('Subject: the id of a conversation or notification, or a day'),
  state: z
    .enum(STATES)
    .describe('pending: tried again at next_at. dropped: a live delivery that was too late'),
  attempts: z.int(),
  next_at: dateTime.nullable(),
  created_at: dateTime,
  ended_at: dateTime.nullable(),
  replay_of: z.string().nullable().describe('Id of the delivery that this one repeats'),
};
const DeliveryJson = z.object(RECORD).meta({ id: 'Delivery' });

const AttemptJson = z
  .object({
    number: z.int(),
    at: dateTime,
    took_ms: z.int(),
    status: z.int().nullable().describe('HTTP status; null: there was no response'),
    error: z.string().nullable().describe('Error message; null: none'),
    answer: z.string().nullable().describe('First KiB of the response'),
  })
  .meta({ id: 'DeliveryAttempt' });

const WholeDeliveryJson = z
  .object({
    ...RECORD,
    query: z.string(),
    content_type: z.string(),
    body: z.string().nullable().describe('Body; null: not stored'),
    tries: z.array(AttemptJson).describe('Attempts, in order'),
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
        target_id: word().meta({ description: 'Only deliveries to this webhook or address' }),
        state: choice(STATES),
        before: word().meta({ description: 'Id of a delivery: only earlier ones' }),
        limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
      }),
      response: z.array(DeliveryJson),
      async handle({ principal: { user }, query: { target_id: targetId, state, before: beforeId, limit } }) {
        const load = (part: typeof page) => deliveries.list(user.id, { targetId, state, ...part });
        const page = { limit, beforeId };
        return (await inPagesBefore(load, page)).map(toJson);
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
      summary: 'Repeat a delivery as a new one',
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
    next_at: toIsoOrNull(delivery.nextAt),
    created_at: new Date(delivery.createdAt).toISOString(),
    ended_at: toIsoOrNull(delivery.endedAt),
    replay_of: delivery.replayOf,
  };
}

function attemptJson({ number, at, tookMs, status, error, answer }: DeliveryAttempt) {
  return { number, at: new Date(at).toISOString(), took_ms: tookMs, status, error, answer };
}
