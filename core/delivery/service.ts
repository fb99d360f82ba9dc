import type { Clock } from '../contract/model.ts';
import type { NotificationChannel, Storage } from '../contract/plugin.ts';
import { DELIVER_JOB, FAN_OUT_JOB } from '../domain/apps/deliveries.ts';
import type { Conversations } from '../domain/conversations/conversations.ts';
import type { EventBus } from '../runtime/events.ts';
import { createJobs } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import type { DeliveryMetrics, JobMetrics } from '../runtime/metrics.ts';
import { type Answered, createHear } from './answers.ts';
import { createDeliverer } from './deliverer.ts';
import { createFanOut, type FanOut, type WebhookTypes } from './events.ts';
import { createLive, type Live } from './live.ts';
import type { Outbound } from './outbound.ts';
import { createTargets, type NotifyOwner, type Targets } from './targets.ts';

/** Targets that are served at the same time: one that does not answer holds its place for 15 s at most. */
const MAX_TARGETS = 64;
/** Lease of a target: after a crash, its deliveries continue when it has expired. */
const LEASE_MS = 15_000;

interface Parts {
  storage: Storage;
  clock: Clock;
  log: Log;
  metrics: DeliveryMetrics & JobMetrics;
  events: EventBus;
  conversations: Conversations;
  outbound: Pick<Outbound, 'post'>;
  webhooks: WebhookTypes;
  channel(name: string): NotificationChannel;
  notifyOwner: NotifyOwner;
  /** Does what a receiver asks for. Nobody waits for it. */
  answered(answer: Answered): Promise<unknown>;
  limits?: { leaseMs?: number; maxTargets?: number };
}

export interface Delivery {
  /** Deliveries of the live webhooks. */
  live: Live;
  fanOut: Pick<FanOut, 'deliveriesOf'>;
  targets: Pick<Targets, 'ofHook'>;
  /** @param node in whose name jobs are leased */
  start(node?: string): void;
  stop(): Promise<void>;
}

/** Sends everything that leaves the server by itself. It runs its own jobs, so that slow receivers hold up no others. */
export function createDelivery(parts: Parts): Delivery {
  const { storage, clock, log, metrics, events, webhooks, conversations, limits = {} } = parts;
  const { leaseMs = LEASE_MS, maxTargets = MAX_TARGETS } = limits;
  const targets = createTargets(parts);
  const fanOut = createFanOut(parts);
  const hear = createHear(parts);
  const live = createLive({ storage, clock, log, metrics, events, webhooks, conversations, hear, targets });
  const jobs = createJobs({
    storage,
    clock,
    metrics,
    log,
    leaseMs,
    maxRunning: maxTargets,
    maxOfUser: maxTargets,
  });
  jobs.handle(FAN_OUT_JOB, fanOut.handle);
  jobs.handle(
    DELIVER_JOB,
    createDeliverer({ storage, clock, metrics, targets, hear }),
    async ({ kind, key, payload }) => {
      // that this process ended again and again is not the fault of what waits: it is tried until its time is over
      await storage.jobs.enqueue({ kind, key, payload, runAt: clock.now() + leaseMs });
    },
  );
  return {
    live,
    fanOut,
    targets,
    start: jobs.start,
    async stop() {
      await live.close();
      await jobs.stop();
    },
  };
}
