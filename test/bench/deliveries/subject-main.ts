/**
 * The whole delivery on its own database, and smaller and smaller parts of it; reports the time for a number
 * of deliveries.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { Pool } from 'undici';
import type { Clock, Conversation, Delivery, Hook } from '../../../core/contract/model.ts';
import type { Capabilities, WebhookType } from '../../../core/contract/plugin.ts';
import { createOutbound } from '../../../core/delivery/outbound.ts';
import { createDelivery } from '../../../core/delivery/service.ts';
import { signatureHeaders } from '../../../core/delivery/signature.ts';
import { deliverIn, tellOfConversationIn } from '../../../core/domain/apps/deliveries.ts';
import { createConversations } from '../../../core/domain/conversations/conversations.ts';
import { createPresenter } from '../../../core/domain/conversations/present.ts';
import { newId } from '../../../core/domain/ids.ts';
import { createEvents } from '../../../core/runtime/events.ts';
import { createMetrics } from '../../../core/runtime/metrics.ts';
import { app, hook, installation } from '../../../plugins/kit/suites/storage/outbound-rows.ts';
import { conversation, segment, user } from '../../../plugins/kit/suites/storage/rows.ts';
import conversationCreated from '../../../plugins/webhook/conversation-created/index.ts';
import { openStorage } from '../../helpers/storage.ts';

const WAYS = [
  'from causes',
  'from stored deliveries',
  'guarded and signed, not stored',
  'bare undici',
] as const;
export type Way = (typeof WAYS)[number];

/** Given as the first argument. */
export interface SubjectPlan {
  file: string;
  url: string;
  hooks: number;
}

export interface SubjectOrder {
  way: Way;
  events: number;
}

export interface SubjectSaid {
  event: 'ran';
  ms: number;
  /** Processor time of the whole process. */
  cpuMs: number;
}

const USER = 'u';
const SEGMENTS = 20;
/** Concurrent requests per webhook, as in the deliverer. */
const AT_ONCE = 8;
const AT_A_TIME = 50;

const plan: SubjectPlan = JSON.parse(process.argv[2] ?? '{}');
const clock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}),
};
const log = pino({ level: 'silent' });
const { storage } = await openStorage(plan.file);
await storage.migrate();
await storage.users.insert(user(USER));
const hooks = Array.from({ length: plan.hooks }, (_, at) =>
  hook(`h${at}`, USER, {
    appId: `a${at}`,
    url: plan.url,
    secret: `whsec_${Buffer.alloc(32, at).toString('base64')}`,
  }),
);
for (const each of hooks) {
  await storage.apps.insert(app(String(each.appId), USER));
  await storage.installations.put(installation(USER, String(each.appId)));
  await storage.hooks.put(each);
}
const events = createEvents();
const conversations = createConversations({ storage, clock, events });
const { presentOne } = createPresenter(conversations);
const outbound = createOutbound({ allowHosts: ['127.0.0.1'], clock });
const { webhook }: Capabilities = conversationCreated.setup();
const type = webhook as WebhookType; // it has one

/** Resolves after this many deliveries. */
async function untilDelivered(count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  const metrics = createMetrics({
    now: () => performance.now(),
    plugins: () => [],
    jobs: async () => [],
  });
  const service = createDelivery({
    ...{ storage, clock, log, events, conversations, outbound },
    metrics: {
      ...metrics,
      attempted(...of) {
        metrics.attempted(...of);
        left -= 1;
        if (left === 0) resolve();
      },
    },
    webhooks: () => [type],
    channel: () => {
      throw new Error('there are no channels here');
    },
    notifyOwner: async () => {},
    answered: async () => {},
  });
  service.start();
  await promise;
  await service.stop();
}

/** Creates ended conversations that no webhook has received yet. */
async function converse(count: number): Promise<Conversation[]> {
  const all: Conversation[] = [];
  for (let left = count; left > 0; left -= AT_A_TIME)
    await storage.transaction('converse', async tx => {
      for (let i = 0; i < Math.min(left, AT_A_TIME); i++) {
        const one = conversation(newId(clock.now()), USER, { status: 'completed' });
        await tx.conversations.insert(one);
        const said = Array.from({ length: SEGMENTS }, (_, at) =>
          segment(`${one.id}${at}`, one, { text: 'Then the garden gets less, and the journey is put off.' }),
        );
        await tx.segments.upsert(said);
        all.push(one);
      }
    });
  return all;
}

interface Post {
  to: Hook;
  id: string;
  body: string;
}

/** Builds the requests that webhooks would get for this many events. */
async function postsOf(count: number): Promise<Post[]> {
  const posts: Post[] = [];
  const owner = await storage.users.get(USER);
  for (const one of await converse(count)) {
    const wire = owner && (await presentOne(owner, one, true));
    const event = { trigger: 'conversation' as const, userId: USER, conversation: one, wire: wire as never };
    const body = String(type.render(event)?.body);
    for (const to of hooks) posts.push({ to, id: newId(clock.now()), body });
  }
  return posts;
}

async function postAll(posts: Post[], post: (one: Post) => Promise<unknown>): Promise<void> {
  const waiting = posts.values();
  const worker = async () => {
    for (const one of waiting) await post(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE * hooks.length }, worker));
}

/** Preparations of each subject; the returned function is measured. */
const prepare: Record<Way, (count: number) => Promise<() => Promise<void>>> = {
  async 'from causes'(count) {
    const all = await converse(count);
    await storage.transaction('tell', async tx => {
      for (const one of all) await tellOfConversationIn(tx, one, clock.now());
    });
    return () => untilDelivered(count * hooks.length);
  },
  async 'from stored deliveries'(count) {
    const posts = await postsOf(count);
    const now = clock.now();
    await storage.transaction('fill', tx =>
      deliverIn(
        tx,
        posts.map(post => deliveryOf(post, now)),
      ),
    );
    return () => untilDelivered(posts.length);
  },
  async 'guarded and signed, not stored'(count) {
    const { signal } = new AbortController();
    const posts = await postsOf(count);
    return () =>
      postAll(posts, ({ to, ...one }) =>
        outbound.post(urlOf(to), { headers: headersOf(to, one), body: one.body, signal }),
      );
  },
  async 'bare undici'(count) {
    const posts = await postsOf(count);
    const { origin, pathname } = new URL(plan.url);
    const pool = new Pool(origin, { connections: 64 });
    return async () => {
      await postAll(posts, async ({ to, ...one }) => {
        const path = `${pathname}?uid=${USER}`;
        const answer = await pool.request({
          method: 'POST',
          path,
          headers: headersOf(to, one),
          body: one.body,
        });
        await answer.body.text();
      });
      await pool.close();
    };
  },
};

const urlOf = ({ url }: Hook) => `${url}?uid=${USER}`;

function headersOf(to: Hook, one: Omit<Post, 'to'>): Record<string, string> {
  return { 'content-type': 'application/json', ...signatureHeaders(to, one, clock.now()) };
}

function deliveryOf({ to, id, body }: Post, now: number): Delivery {
  return {
    ...{ id, userId: USER, targetKind: 'hook', targetId: to.id, appId: to.appId, type: to.type, subject: id },
    ...{ state: 'pending', query: `uid=${USER}`, contentType: 'application/json', body, attempts: 0 },
    ...{ nextAt: now, createdAt: now, endedAt: null, replayOf: null },
  };
}

process.on('message', async ({ way, events: count }: SubjectOrder) => {
  const run = await prepare[way](count);
  const before = process.cpuUsage();
  const began = performance.now();
  await run();
  const ms = performance.now() - began;
  const { user: inUser, system } = process.cpuUsage(before);
  process.send?.({ event: 'ran', ms, cpuMs: (inUser + system) / 1000 } satisfies SubjectSaid);
});
