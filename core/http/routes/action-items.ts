import { z } from 'zod';
import type { ActionItem, ActionItemDraft } from '../../contract/model.ts';
import { inPages } from '../../domain/pages.ts';
import type { ActionItems } from '../../domain/tasks/action-items.ts';
import { toIso, toIsoOrNull } from '../../runtime/iso.ts';
import { instant, optional, someOf, text } from '../fields.ts';
import { boolean, instant as instantParameter, integer, word } from '../query.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/dev/user/action-items';
const ONE = '/v1/dev/user/action-items/{action_item_id}';
const MAX_DESCRIPTION_CHARS = 500;
const MAX_BATCH = 50;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

const dateTime = z.iso.datetime();

export const ActionItemJson = z
  .object({
    id: z.string(),
    description: z.string(),
    completed: z.boolean(),
    created_at: dateTime,
    updated_at: dateTime,
    due_at: dateTime.nullable(),
    completed_at: dateTime.nullable(),
    conversation_id: z.string().nullable().describe('Conversation that it comes from; null: none'),
    segment_id: z.string().nullable().describe('Segment in which it was said; null: not known'),
  })
  .meta({ id: 'ActionItem' });

const ListQuery = z.object({
  limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
  offset: integer({ from: 0, absent: 0 }),
  completed: boolean(),
  conversation_id: word(),
  start_date: instantParameter('start'),
  end_date: instantParameter('end'),
});

const description = text({ max: MAX_DESCRIPTION_CHARS });
const DRAFT_EXAMPLE = { description: 'Send the photos to Eve', due_at: '2026-05-04T09:00:00+02:00' };

const Draft = z
  .object({
    description,
    completed: optional(z.boolean(), false),
    due_at: optional(instant(), null).describe('Time of its reminder; in UTC unless it contains a time zone'),
  })
  .transform(({ due_at: dueAt, ...draft }): ActionItemDraft => ({ ...draft, dueAt }))
  .meta({ id: 'ActionItemDraft', override: { examples: [DRAFT_EXAMPLE] } });

const Batch = z
  .object({ action_items: z.array(Draft).max(MAX_BATCH) })
  .meta({ id: 'ActionItemBatch', override: { examples: [{ action_items: [DRAFT_EXAMPLE] }] } });

const Edit = someOf({
  description: description.exactOptional(),
  completed: z.boolean().exactOptional().describe('Sets or clears completed_at'),
  due_at: instant().nullable().exactOptional().describe('Null: none'),
  expected: z
    .object({
      description: description.exactOptional(),
      due_at: instant().nullable().exactOptional(),
    })
    .exactOptional()
    .describe(
      'Values that the edit is based on: if they have changed, the response is a 409 with both versions',
    ),
}).meta({ id: 'ActionItemEdit', override: { examples: [{ completed: true }] } });

/** Tasks. */
export function actionItemRoutes(actionItems: ActionItems): Route[] {
  const common = { tag: 'Action items', query: z.object({}) };
  const one = z.object({ action_item_id: z.string() });
  return [
    route({
      ...common,
      method: 'get',
      id: 'listActionItems',
      path: LIST,
      summary: 'List action items: open before done, those with a due date first',
      scope: 'action_items:read',
      params: z.object({}),
      query: ListQuery,
      response: z.array(ActionItemJson),
      async handle({ principal: { user }, query }) {
        const {
          start_date: createdFrom,
          end_date: createdTo,
          conversation_id: conversationId,
          ...rest
        } = query;
        const filter = { ...rest, conversationId, createdFrom, createdTo };
        const found = await inPages(page => actionItems.list(user.id, { ...filter, ...page }), query);
        return found.map(actionItemJson);
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'getActionItem',
      path: ONE,
      summary: 'Get one action item',
      scope: 'action_items:read',
      errors: ['not_found'],
      params: one,
      response: ActionItemJson,
      handle: async ({ principal: { user }, params }) =>
        actionItemJson(await actionItems.get(user.id, params.action_item_id)),
    }),
    route({
      ...common,
      method: 'post',
      id: 'createActionItem',
      repeatable: true,
      path: LIST,
      summary: 'Create an action item',
      scope: 'action_items:write',
      params: z.object({}),
      body: Draft,
      response: ActionItemJson,
      async handle({ principal: { user }, body }) {
        const [created] = await actionItems.create(user.id, [body]);
        return actionItemJson(created as ActionItem); // one for each draft
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'createActionItems',
      path: `${LIST}/batch`,
      policy: 'batch',
      summary: `Create up to ${MAX_BATCH} action items, all or none`,
      scope: 'action_items:write',
      params: z.object({}),
      body: Batch,
      response: z.object({ action_items: z.array(ActionItemJson), created_count: z.int() }),
      async handle({ principal: { user }, body }) {
        const created = await actionItems.create(user.id, body.action_items);
        return { action_items: created.map(actionItemJson), created_count: created.length };
      },
    }),
    route({
      ...common,
      method: 'patch',
      id: 'updateActionItem',
      path: ONE,
      summary: 'Change an action item',
      scope: 'action_items:write',
      errors: ['not_found', 'conflict', 'locked'],
      params: one,
      body: Edit,
      response: ActionItemJson,
      async handle({ principal: { user }, params, body: { expected, ...body } }) {
        const edit = { ...withDue(body), ...(expected && { expected: withDue(expected) }) };
        return actionItemJson(await actionItems.edit(user.id, params.action_item_id, edit));
      },
    }),
    route({
      ...common,
      method: 'delete',
      id: 'deleteActionItem',
      path: ONE,
      summary: 'Delete an action item for good',
      scope: 'action_items:write',
      errors: ['not_found', 'locked'],
      params: one,
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await actionItems.remove(user.id, params.action_item_id);
        return { success: true as const };
      },
    }),
  ];
}

function withDue<Body extends object>({ due_at: dueAt, ...body }: Body & { due_at?: number | null }) {
  return dueAt === undefined ? body : { ...body, dueAt };
}

export function actionItemJson(item: ActionItem): z.input<typeof ActionItemJson> {
  return {
    id: item.id,
    description: item.description,
    completed: item.completed,
    created_at: toIso(item.createdAt),
    updated_at: toIso(item.updatedAt),
    due_at: toIsoOrNull(item.dueAt),
    completed_at: toIsoOrNull(item.completedAt),
    conversation_id: item.conversationId,
    segment_id: item.segmentId,
  };
}
