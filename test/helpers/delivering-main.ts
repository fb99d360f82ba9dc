/**
 * The delivery service with its own database, in a process that can be killed and is controlled over its IPC channel.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Clock } from '../../core/contract/model.ts';
import type { Capabilities, WebhookType } from '../../core/contract/plugin.ts';
import { createOutbound } from '../../core/delivery/outbound.ts';
import { createDelivery } from '../../core/delivery/service.ts';
import { deliverIn } from '../../core/domain/apps/deliveries.ts';
import { createConversations } from '../../core/domain/conversations/conversations.ts';
import { newId } from '../../core/domain/ids.ts';
import { createEvents } from '../../core/runtime/events.ts';
import { createMetrics } from '../../core/runtime/metrics.ts';
import { delivery, hook } from '../../plugins/kit/suites/storage/outbound-rows.ts';
import { conversation, user } from '../../plugins/kit/suites/storage/rows.ts';
import conversationCreated from '../../plugins/webhook/conversation-created/index.ts';
import { openStorage } from './storage.ts';

/** Passed at the start as JSON. */
export interface DeliveringPlan {
  /** Path of the database. */
  file: string;
  /** One webhook each, of the users `u0`, `u1` and so on. */
  urls: string[];
  leaseMs: number;
  /** False: begins to deliver when ordered to. */
  isStarted: boolean;
}

export type Order =
  /** Completes these conversations of a user, and answers `done` for each once committed. */
  | { order: 'complete'; userId: string; ids: string[] }
  /** Stores `each` deliveries per webhook, with a body of `chars` characters. */
  | { order: 'fill'; each: number; chars: number }
  | { order: 'start' };

export type Said = { event: 'ready' } | { event: 'done'; id: string } | { event: 'filled'; ms: number };

const clock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}),
};
const STRUCTURED = { title: 'T', overview: 'O', category: 'other', emoji: '', actionItems: [], events: [] };

const plan: DeliveringPlan = JSON.parse(process.argv[2] ?? '{}');
const { storage } = await openStorage(plan.file);
await storage.migrate();
const metrics = createMetrics({
  now: () => performance.now(),
  plugins: () => [],
  jobs: async () => [],
});
const events = createEvents();
const conversations = createConversations({ storage, clock, events });
const { webhook }: Capabilities = conversationCreated.setup();
const service = createDelivery({
  storage,
  clock,
  metrics,
  events,
  conversations,
  log: pino({ level: 'silent' }),
  outbound: createOutbound({ allowHosts: ['127.0.0.1'], clock }),
  webhooks: () => [webhook as WebhookType], // the plan contains one
  channel: () => {
    throw new Error('there are no channels here');
  },
  notifyOwner: async () => {},
  answered: async () => {},
  limits: { leaseMs: plan.leaseMs },
});
for (const [index, url] of plan.urls.entries()) {
  const id = `u${index}`;
  if (await storage.users.get(id)) continue;
  // In one transaction: the process may be killed in between.
  await storage.transaction('prepare', async tx => {
    await tx.users.insert(user(id));
    await tx.hooks.put(hook(`h${index}`, id, { url }));
  });
}
if (plan.isStarted) service.start();

async function complete(userId: string, id: string): Promise<void> {
  const processing = conversation(id, userId, { status: 'processing' });
  if (!(await storage.conversations.get(userId, id))) await storage.conversations.insert(processing);
  await conversations.complete(userId, id, STRUCTURED);
  say({ event: 'done', id });
}

async function fill({ each, chars }: { each: number; chars: number }): Promise<void> {
  const began = performance.now();
  const now = clock.now();
  for (const index of plan.urls.keys())
    for (let at = 0; at < each; at += 100) {
      const some = Array.from({ length: Math.min(100, each - at) }, () =>
        delivery(newId(now), `u${index}`, {
          ...{ targetId: `h${index}`, createdAt: now, nextAt: now },
          body: JSON.stringify({ id: newId(now), text: 'x'.repeat(chars) }),
        }),
      );
      await storage.transaction('fill', tx => deliverIn(tx, some));
    }
  say({ event: 'filled', ms: performance.now() - began });
}

function say(said: Said): void {
  process.send?.(said);
}

process.on('message', async (order: Order) => {
  if (order.order === 'start') service.start();
  if (order.order === 'fill') await fill(order);
  if (order.order === 'complete') await Promise.all(order.ids.map(id => complete(order.userId, id)));
});
say({ event: 'ready' });
