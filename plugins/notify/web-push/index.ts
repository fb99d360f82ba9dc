import type { NotificationChannel, NotificationMessage, Plugin } from '../../../core/contract/plugin.ts';
import { createPost, type Reply, type Verdict } from '../../kit/message/post.ts';
import { jsonBytes, linesOf, shorten } from '../../kit/message/text.ts';
import { wireOf } from '../../kit/message/wire.ts';
import { openVapidKeys } from './keys.ts';

/** Bytes: push services accept 4096, including the overhead of encryption (RFC 8291, section 4). */
const MAX_PAYLOAD = 3993;
const MAX_DATA = 1000;
/** Seconds that a push service holds a message for a device that is offline. */
const KEPT_S = 24 * 3600;

interface Options {
  contact: string;
}

/** A browser's `PushSubscription` as JSON. */
interface Address {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

export default {
  name: 'web-push',
  api: 1,
  title: 'Web push: to browsers and installed web apps, encrypted, without an account anywhere',
  options: z =>
    z.strictObject({
      contact: z
        .string()
        .regex(/^(mailto:[^\s@]+@\S+|https:\/\/\S+)$/, 'must be mailto: with an address, or an https address')
        .default('mailto:operator@example.com')
        .describe('Contact of the operator for push services: mailto: or https:; some require a real one'),
    }),
  async setup(context) {
    const { options, error } = context;
    const post = createPost(context, judge);
    const { publicKey, privateKey } = await openVapidKeys(context);
    const vapidDetails = { subject: options.contact, publicKey, privateKey };

    async function request(address: Address, message: NotificationMessage) {
      const { default: webPush } = await import('web-push');
      try {
        return webPush.generateRequestDetails(address, payloadOf(message), {
          vapidDetails,
          TTL: KEPT_S,
          urgency: message.urgency,
          topic: topicOf(message), // a repeated message replaces the first one while the device is offline
        });
      } catch (cause) {
        const remedy = 'have the browser subscribe again';
        throw error('forbidden', `web-push: no keys that one can encrypt with; ${remedy}`, { cause });
      }
    }

    const notify: NotificationChannel<Address> = {
      address: zod =>
        zod.strictObject({
          endpoint: zod
            .url({ protocol: /^https?$/ })
            .max(2000)
            .meta({ secret: true })
            .describe("The endpoint of the browser's PushSubscription"),
          keys: zod
            .object({
              p256dh: zod
                .string()
                .regex(/^[\w-]{87}=?$/, 'must be 65 bytes as base64url')
                .describe('The public key of the browser'),
              auth: zod
                .string()
                .regex(/^[\w-]{22}(==)?$/, 'must be 16 bytes as base64url')
                .meta({ secret: true })
                .describe('The authentication secret'),
            })
            .meta({ secret: true })
            .describe('The keys of the same PushSubscription: p256dh and auth'),
          expirationTime: zod
            .number()
            .nullable()
            .optional()
            .describe('Accepted, because the PushSubscription has it, and not stored'),
        }),
      publicInfo: () => ({ applicationServerKey: publicKey }),
      async send(address, message, signal) {
        const { endpoint, headers, body } = await request(address, message);
        const { 'Content-Length': _, ...own } = headers; // told by whoever sends it
        const told = Object.entries(own).map(([name, value]) => [name, String(value)]);
        await post(endpoint, { headers: Object.fromEntries(told), body: body ?? '', signal });
      },
    };
    return { notify };
  },
} satisfies Plugin<Options>;

function judge({ status }: Reply): Verdict | undefined {
  if (status === 404 || status === 410) return ['gone', 'knows this subscription no more'];
  if (status !== 401 && status !== 403) return undefined;
  return [
    'forbidden',
    "refuses this server's key; have the browser subscribe again, or see plugins.web-push.contact",
  ];
}

/** Builds the payload for the service worker. Text that does not fit is shortened; ids are kept. */
function payloadOf(message: NotificationMessage): string {
  const whole = { ...wireOf(message), ...linesOf(message) };
  const data = Buffer.byteLength(JSON.stringify(whole.data)) <= MAX_DATA ? whole.data : {};
  const room = MAX_PAYLOAD - Buffer.byteLength(JSON.stringify({ ...whole, data, text: '' }));
  return JSON.stringify({ ...whole, data, text: shorten(whole.text.toWellFormed(), room, jsonBytes) });
}

/** Fits into the 32 base64url characters that a push topic may have, since ids are UUIDs. */
function topicOf({ id }: NotificationMessage): string {
  return id.replaceAll(/[^\w]/g, '').slice(-32);
}
