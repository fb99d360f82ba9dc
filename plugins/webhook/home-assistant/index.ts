import type { Plugin } from '../../../core/contract/plugin.ts';

/**
 * Requests for a Home Assistant automation with a webhook trigger, whose templates read `trigger.json.title` and so on:
 * the object is flat and every field is always present.
 * https://www.home-assistant.io/docs/automation/trigger/#webhook-trigger
 */
export default {
  name: 'home-assistant',
  api: 1,
  title: 'Webhook home_assistant: a conversation that is over, for an automation of Home Assistant',
  setup: () => ({
    webhook: {
      type: 'home_assistant',
      trigger: 'conversation',
      render(event) {
        if (event.trigger !== 'conversation' || event.conversation.discarded) return null;
        const { id, structured, startedAt, finishedAt, language, source } = event.conversation;
        const body = {
          event: 'conversation_created',
          conversation_id: id,
          title: structured.title,
          overview: structured.overview,
          category: structured.category,
          emoji: structured.emoji,
          language,
          source,
          started_at: toIso(startedAt),
          finished_at: toIso(finishedAt),
          duration_s: startedAt === null || finishedAt === null ? null : (finishedAt - startedAt) / 1000,
          action_items: structured.actionItems.map(({ description, dueAt }) => ({
            description,
            due_at: toIso(dueAt),
          })),
        };
        return { query: {}, contentType: 'application/json', body: JSON.stringify(body) };
      },
    },
  }),
} satisfies Plugin;

function toIso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
