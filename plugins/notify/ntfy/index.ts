import type { NotificationChannel, NotificationMessage, Plugin } from '../../../core/contract/plugin.ts';
import { secretToken, serverUrl } from '../../kit/message/address.ts';
import { createPost } from '../../kit/message/post.ts';
import { bodyOf, jsonBytes, linesOf } from '../../kit/message/text.ts';

/** Priorities in ntfy's JSON: 3 is the default; 5 would override a phone's quiet hours. */
const PRIORITY = { low: 2, normal: 3, high: 4 } as const satisfies Record<
  NotificationMessage['urgency'],
  number
>;
/**
 * Bytes of text. ntfy turns longer ones into an attachment or refuses them; the limit for the whole JSON is twice this.
 */
const MAX_MESSAGE = 4096;

interface Address {
  server: string;
  topic: string;
  token?: string | undefined;
}

export default {
  name: 'ntfy',
  api: 1,
  title: 'ntfy: to its apps for phones and browsers, by ntfy.sh or a server of your own',
  setup(context) {
    const post = createPost(context);
    const notify: NotificationChannel<Address> = {
      address: zod =>
        zod.strictObject({
          server: serverUrl(zod).default('https://ntfy.sh').describe('Where ntfy answers'),
          topic: zod
            .string()
            .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')
            .describe('The topic that the app subscribes to; who knows its name can read it'),
          token: secretToken(zod).optional().describe('An access token, where the topic wants one'),
        }),
      async send({ server, topic, token }, message, signal) {
        // Sent as JSON, because ntfy's headers limit the length and the alphabet of a title and would need escaping.
        await post(`${server}/`, {
          headers: {
            'content-type': 'application/json',
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
          body: JSON.stringify(publication(topic, message)),
          signal,
        });
      },
    };
    return { notify };
  },
} satisfies Plugin;

/** https://docs.ntfy.sh/publish/#publish-as-json */
function publication(topic: string, message: NotificationMessage) {
  const { id, urgency, muteUrl } = message;
  return {
    topic,
    title: linesOf(message).title,
    message: bodyOf(message, { max: MAX_MESSAGE, measure: jsonBytes }),
    priority: PRIORITY[urgency],
    markdown: false,
    sequence_id: id, // since ntfy 2.16: a repeated message replaces the first
    ...(muteUrl === null ? {} : { actions: [{ action: 'view', label: 'No more of these', url: muteUrl }] }),
  };
}
