import { z } from 'zod';
import type { WeeklyReview, WeeklyReviews } from '../../domain/conversations/weekly-review.ts';
import { type Route, route } from '../route.ts';

const instant = z.iso.datetime();
const TaskJson = z.object({
  id: z.string(),
  description: z.string(),
  due_at: instant.nullable(),
  completed_at: instant.nullable(),
});

const WeeklyReviewJson = z
  .object({
    from: z.iso.date().describe('First of its seven days, in the time zone'),
    to: z.iso.date(),
    time_zone: z.string(),
    conversations: z.object({
      count: z.int(),
      categories: z.array(z.object({ category: z.string(), count: z.int() })).describe('Most first'),
      longest: z.array(z.object({ id: z.string(), title: z.string(), category: z.string() })),
    }),
    tasks: z.object({
      completed: z.array(TaskJson).describe('Within the week'),
      overdue: z.array(TaskJson).describe('Open ones that were due by the end of the week'),
      due: z.array(TaskJson).describe('Open ones that are due in the seven days after it'),
    }),
    events: z
      .array(z.object({ title: z.string(), starts_at: instant, conversation_id: z.string() }))
      .describe('Of the seven days after it, as conversations of the week tell of them'),
    goals: z.array(z.object({ id: z.string(), title: z.string(), before: z.number(), after: z.number() })),
  })
  .meta({ id: 'WeeklyReview' });

/** A review of a week, from the structures of its conversations. */
export function weeklyReviewRoutes(review: WeeklyReviews): Route[] {
  return [
    route({
      method: 'get',
      id: 'getWeeklyReview',
      path: '/v1/users/weekly-review',
      tag: 'Conversations',
      summary: 'Review seven days: conversations by category, tasks done and due, events ahead, and goals',
      credential: 'idToken',
      policy: 'transcript',
      params: z.object({}),
      query: z.object({ to: z.iso.date().optional().describe('The last of its days; absent: today') }),
      response: WeeklyReviewJson,
      handle: async ({ principal: { user }, query: { to } }) => toJson(await review(user.id, to)),
    }),
  ];
}

function toJson({
  from,
  to,
  timeZone,
  conversations,
  tasks,
  events,
  goals,
}: WeeklyReview): z.input<typeof WeeklyReviewJson> {
  const told = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const taskJson = ({ id, description, dueAt, completedAt }: WeeklyReview['tasks']['due'][number]) => ({
    id,
    description,
    due_at: told(dueAt),
    completed_at: told(completedAt),
  });
  return {
    from,
    to,
    time_zone: timeZone,
    conversations: {
      count: conversations.count,
      categories: conversations.categories,
      longest: conversations.longest.map(({ id, structured }) => ({
        id,
        title: structured.title,
        category: structured.category,
      })),
    },
    tasks: {
      completed: tasks.completed.map(taskJson),
      overdue: tasks.overdue.map(taskJson),
      due: tasks.due.map(taskJson),
    },
    events: events.map(({ title, startAt, conversationId }) => ({
      title,
      starts_at: new Date(startAt).toISOString(),
      conversation_id: conversationId,
    })),
    goals: goals.map(({ goal: { id, title }, before, after }) => ({ id, title, before, after })),
  };
}
