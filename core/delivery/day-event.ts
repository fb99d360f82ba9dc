import type { ActionItem, Conversation } from '../contract/model.ts';
import type { WebhookEvent } from '../contract/plugin.ts';

export type DayEvent = Extract<WebhookEvent, { trigger: 'day' }>;

/**
 * Builds the webhook event for a day's summary.
 * @param now epoch ms
 */
export function dayEvent(
  userId: string,
  {
    shown,
    now,
    ...about
  }: {
    /** The day as `YYYY-MM-DD` in this time zone. */
    day: string;
    timeZone: string;
    summary: string;
    conversations: Conversation[];
    actionItems: ActionItem[];
    /** The conversations in the form of the REST interface. */
    shown: readonly object[];
    now: number;
  },
): DayEvent {
  const { day, timeZone, summary, actionItems } = about;
  const summary_json = {
    date: day,
    time_zone: timeZone,
    summary,
    conversations: shown,
    action_items: actionItems.map(taskJson),
  };
  const wire = { uid: userId, created_at: new Date(now).toISOString(), summary, summary_json };
  return { trigger: 'day', userId, ...about, wire };
}

function taskJson({ id, description, completed, dueAt, conversationId }: ActionItem) {
  const due_at = dueAt === null ? null : new Date(dueAt).toISOString();
  return { id, description, completed, due_at, conversation_id: conversationId };
}
