import type { Plugin } from '../../../core/contract/plugin.ts';

export default {
  name: 'log',
  api: 1,
  title: "This server's log: that there is a notification, not what it says",
  setup: ({ log }) => ({
    notify: {
      address: zod => zod.strictObject({}),
      async send(_address, { id, app, event, urgency }, signal) {
        signal.throwIfAborted();
        log.info({ notification: id, app, event, urgency }, 'a notification');
      },
    },
  }),
} satisfies Plugin;
