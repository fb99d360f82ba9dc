import type { Plugin } from '../../../core/contract/plugin.ts';

export default {
  name: 'device-event',
  api: 1,
  title: 'Webhook device_event: a wearable is connected or gone, its battery is low, its button was pressed',
  setup: () => ({
    webhook: {
      type: 'device_event',
      trigger: 'device',
      render(event) {
        if (event.trigger !== 'device') return null;
        return {
          query: { uid: event.userId },
          contentType: 'application/json',
          body: JSON.stringify(event.wire),
        };
      },
    },
  }),
} satisfies Plugin;
