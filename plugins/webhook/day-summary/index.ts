import type { Plugin } from '../../../core/contract/plugin.ts';

export default {
  name: 'day-summary',
  api: 1,
  title: 'Webhook day_summary: what a day brought, its conversations and tasks',
  setup: () => ({
    webhook: {
      type: 'day_summary',
      trigger: 'day',
      render(event) {
        if (event.trigger !== 'day') return null;
        return {
          query: { uid: event.userId },
          contentType: 'application/json',
          body: JSON.stringify(event.wire),
        };
      },
    },
  }),
} satisfies Plugin;
