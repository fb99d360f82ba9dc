import type { Plugin } from '../../../core/contract/plugin.ts';
import { readAnswer } from '../../kit/message/webhook-answer.ts';

export default {
  name: 'conversation-created',
  api: 1,
  title: 'Webhook memory_created: a conversation that is over, with its summary and transcript',
  setup: () => ({
    webhook: {
      type: 'memory_created',
      aliases: ['memory_creation'],
      trigger: 'conversation',
      render(event) {
        if (event.trigger !== 'conversation' || event.conversation.discarded) return null;
        return {
          query: { uid: event.userId },
          contentType: 'application/json',
          body: JSON.stringify(event.wire),
        };
      },
      answer: readAnswer,
    },
  }),
} satisfies Plugin;
