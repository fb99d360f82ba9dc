import type { NotificationChannel, Plugin } from '../../../core/contract/plugin.ts';
import { serverUrl } from '../../kit/message/address.ts';
import { createPost, type Reply, type Verdict } from '../../kit/message/post.ts';
import { bodyOf, linesOf, muteLines } from '../../kit/message/text.ts';

interface Address {
  server: string;
  key: string;
  tag?: string | undefined;
}

/** Maps the response codes particular to Apprise's API; undefined leaves the decision to the shared rules. */
function judge({ status, body }: Reply): Verdict | undefined {
  if (status === 204)
    return ['forbidden', 'has no services under this key; set them up there, or correct the key'];
  if (status !== 424) return undefined;
  // A retry would notify again those that were already reached.
  if (hasReached(Buffer.from(body).toString())) return ['forbidden', 'reached some of its services, not all'];
  return ['upstream_error', 'reached none of its services, or has none with this tag'];
}

/**
 * Whether any address was reached, by the log in the answer: `{ details: [[level, time, "Sent ntfy notification."], …]
 * }`.
 */
function hasReached(body: string): boolean {
  return /"Sent [^"]*notification/.test(body);
}

export default {
  name: 'apprise',
  api: 1,
  title: 'Apprise: to any of its hundred services, by an Apprise API server of your own',
  setup(context) {
    const post = createPost(context, judge);
    const notify: NotificationChannel<Address> = {
      address: zod =>
        zod.strictObject({
          server: serverUrl(zod).describe('Where the Apprise API answers'),
          key: zod
            .string()
            .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be 1 to 128 letters, digits, _ or -')
            .meta({ secret: true })
            .describe('Key (configuration id) under which the services are set up there'),
          tag: zod
            .string()
            .regex(/^[A-Za-z0-9_ ,-]{1,200}$/, 'must be letters, digits, _ or -; several with a comma')
            .optional()
            .describe('Only services with this tag'),
        }),
      async send({ server, key, tag }, message, signal) {
        await post(`${server}/notify/${key}`, {
          headers: { 'content-type': 'application/json', accept: 'application/json' },
          body: JSON.stringify({
            title: linesOf(message).title,
            body: bodyOf(message, { below: muteLines(message) }),
            type: message.urgency === 'high' ? 'warning' : 'info',
            format: 'text',
            ...(tag === undefined ? {} : { tag }),
          }),
          signal,
        });
      },
    };
    return { notify };
  },
} satisfies Plugin;
