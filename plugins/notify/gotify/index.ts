import type { NotificationChannel, NotificationMessage, Plugin } from '../../../core/contract/plugin.ts';
import { secretToken, serverUrl } from '../../kit/message/address.ts';
import { createPost } from '../../kit/message/post.ts';
import { bodyOf, linesOf, muteLines } from '../../kit/message/text.ts';

/** Gotify's app plays a sound from priority 4 and shows a pop-up from 8. */
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
    const notify: NotificationChannel<Address> = {
      address: zod =>
        zod.strictObject({
          server: serverUrl(zod).describe('Where Gotify answers'),
          token: secretToken(zod).describe('Token of an application there'),
        }),
      async send({ server, token }, message, signal) {
        await post(`${server}/message`, {
          // In a header, since servers and proxies log addresses.
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
    };
    return { notify };
  },
} satisfies Plugin;
