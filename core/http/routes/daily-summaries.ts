import { z } from 'zod';
import type { DaySummaries, DaySummary } from '../../domain/notifications/day-summaries.ts';
import { mapped } from '../../domain/pages.ts';
import { integer } from '../query.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/dev/user/daily-summaries';
const DEFAULT_LIMIT = 30;
const MAX_LIMIT = 1000;

const DailySummaryJson = z
  .object({
    date: z.iso.date().describe('Day in the time zone'),
    time_zone: z.string(),
    summary: z.string(),
    created_at: z.iso.datetime(),
    conversation_ids: z.array(z.string()).describe('Summarised conversations, which may be deleted by now'),
    action_item_ids: z.array(z.string()).describe('Open tasks, which may be deleted by now'),
  })
  .meta({ id: 'DailySummary' });

/** Stored summaries of a user's days. */
export function dailySummaryRoutes(summaries: DaySummaries): Route[] {
  const common = { method: 'get', tag: 'Conversations', scope: 'conversations:read' } as const;
  return [
    route({
      ...common,
      id: 'listDailySummaries',
      path: LIST,
      summary: 'List daily summaries, latest first',
      params: z.object({}),
      query: z.object({
        limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
        offset: integer({ from: 0, absent: 0 }),
      }),
      response: z.array(DailySummaryJson),
      handle: async ({ principal: { user }, query }) => mapped(await summaries.list(user.id, query), toJson),
    }),
    route({
      ...common,
      id: 'getDailySummary',
      path: `${LIST}/{date}`,
      summary: 'Get the daily summary of one day',
      errors: ['not_found'],
      params: z.object({ date: z.string().describe('YYYY-MM-DD') }),
      query: z.object({}),
      response: DailySummaryJson,
      handle: async ({ principal: { user }, params }) => toJson(await summaries.get(user.id, params.date)),
    }),
  ];
}

function toJson(summary: DaySummary): z.input<typeof DailySummaryJson> {
  return {
    date: summary.day,
    time_zone: summary.timeZone,
    summary: summary.summary,
    created_at: new Date(summary.createdAt).toISOString(),
    conversation_ids: summary.conversationIds,
    action_item_ids: summary.actionItemIds,
  };
}
