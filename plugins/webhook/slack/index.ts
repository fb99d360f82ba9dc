import type { Plugin } from '../../../core/contract/plugin.ts';

/** Limits of one text, and of a header, in Slack. https://docs.slack.dev/reference/block-kit/blocks */
const MAX_TEXT = 3000;
const MAX_HEADER = 150;
const MAX_TASKS = 20;

/**
 * Requests for Slack's incoming webhooks and services that accept the same format: Mattermost, Rocket.Chat, Discord's
 * `/slack`.
 */
export default {
  name: 'slack',
  api: 1,
  title: 'Webhook slack: title, summary and tasks of a conversation that is over, in a channel',
  setup: () => ({
    webhook: {
      type: 'slack',
      trigger: 'conversation',
      render(event) {
        if (event.trigger !== 'conversation' || event.conversation.discarded) return null;
        const { title, overview, emoji, actionItems } = event.conversation.structured;
        const heading = `${emoji} ${title.trim() || 'Conversation'}`.trim();
        const tasks = actionItems.slice(0, MAX_TASKS).map(({ description }) => `• ${description}`);
        const body = {
          text: escaped(heading),
          blocks: [
            { type: 'header', text: { type: 'plain_text', text: cut(heading, MAX_HEADER) } },
            ...sectionsOf(overview),
            ...sectionsOf(tasks.join('\n')),
          ],
        };
        return { query: {}, contentType: 'application/json', body: JSON.stringify(body) };
      },
    },
  }),
} satisfies Plugin;

/** `verbatim` keeps Slack from turning names and addresses in the text into links. */
function sectionsOf(text: string): object[] {
  if (text.trim() === '') return [];
  return [{ type: 'section', text: { type: 'mrkdwn', text: escaped(text), verbatim: true } }];
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Escapes spoken text, so that it mentions nobody (`<!channel>`) and links nowhere (`<https://…|bank>`). */
function escaped(text: string): string {
  let out = '';
  for (const character of text) {
    const next = ENTITIES[character] ?? character;
    if (out.length + next.length >= MAX_TEXT) return `${out}…`;
    out += next;
  }
  return out;
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
