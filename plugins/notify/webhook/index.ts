import type { NotificationChannel, Plugin } from '../../../core/contract/plugin.ts';
import { secretToken } from '../../kit/message/address.ts';
import { createPost } from '../../kit/message/post.ts';
import { wireOf } from '../../kit/message/wire.ts';

interface Address {
  url: string;
  token?: string | undefined;
}

export default {
  name: 'webhook',
  api: 1,
  title: 'Notifications as JSON, posted to an address of yours: n8n, Node-RED, Home Assistant, a script',
  setup(context) {
    const post = createPost(context);
    const notify: NotificationChannel<Address> = {
      address: zod =>
        zod.strictObject({
          url: zod
            .url({ protocol: /^https?$/, error: 'must be an address such as https://example.com/notify' })
            .max(2000)
            .refine(hasNoName, 'must hold no name and no password; give a token')
            .describe('Where it is posted to'),
          token: secretToken(zod).optional().describe('Sent along as a bearer token'),
        }),
      async send({ url, token }, message, signal) {
        await post(url, {
          headers: {
            'content-type': 'application/json',
            'webhook-id': message.id,
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
          body: JSON.stringify(wireOf(message)),
          signal,
        });
      },
    };
    return { notify };
  },
} satisfies Plugin;

function hasNoName(url: string): boolean {
  const { username, password } = URL.parse(url) ?? {};
  return !username && !password;
}
