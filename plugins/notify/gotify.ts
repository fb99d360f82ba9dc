import type { NotificationMessage, Plugin } from '../../core/plugin.ts';
import { secretToken, serverUrl } from './message/address.ts';
import { createPost } from './message/post.ts';
import { bodyOf, linesOf, muteLines } from './message/text.ts';

/** Gotify's app makes a sound from 4 on, and pops up from 8 on. */
const PRIORITY = { low: 2, normal: 5, high: 8 } as const satisfies Record<
  NotificationMessage['urgency'],
  number
>;

interface Address {
  server: string;
  token: string;
}

export default {
  name: 'gotify',
  api: 1,
  title: 'Gotify: to its apps, by a server of your own',
  setup(context) {
    const post = createPost(context);
    return {
      notify: {
        address: zod =>
          zod.object({
            server: serverUrl(zod).describe('Where Gotify answers'),
            token: secretToken(zod).describe('Token of an application there'),
          }),
        async send(address, message, signal) {
          const { server, token } = address as unknown as Address; // as `address` parsed it
          await post(`${server}/message`, {
            // Not in the address, as servers and proxies log those.
            headers: { 'content-type': 'application/json', 'x-gotify-key': token },
            body: JSON.stringify({
              title: linesOf(message).title,
              message: bodyOf(message, { below: muteLines(message) }),
              priority: PRIORITY[message.urgency],
              extras: { 'client::display': { contentType: 'text/plain' } },
            }),
            signal,
          });
        },
      },
    };
  },
} satisfies Plugin;
