import { z } from 'zod';
import type { Clock, Delivery, TargetKind } from '../contract/model.ts';
import type { DeliveryOutcome, Storage } from '../contract/plugin.ts';
import { DELIVER_JOB } from '../domain/apps/deliveries.ts';
import type { JobHandler } from '../runtime/jobs.ts';
import type { DeliveryMetrics } from '../runtime/metrics.ts';
import { retryDelayMs } from '../runtime/retry.ts';
import type { Hear } from './answers.ts';
import { createRecorder } from './recorder.ts';
import type { Sent, Target, Targets } from './targets.ts';

/** Maximum simultaneous deliveries to one target. Notifications to people go one at a time, in order. */
const WIDTH: Readonly<Record<TargetKind, number>> = { hook: 8, channel: 1 };
/** Deliveries that are read at a time: each may have a long body. */
const READ_AT_ONCE = 32;
/** After this many consecutive failures only one delivery is attempted at a time, and the others wait. */
const MAX_FAILURES = 3;
/** Pause between two attempts for a target that fails. */
const LONGEST_PAUSE_MS = 10 * 60_000;
/** Maximum share of the simultaneous deliveries for targets that fail. */
const MAX_PROBES = 16;
const PROBE_WAIT_MS = 1000;
/** After this time the job ends and is enqueued again, so that its progress counts if the process is killed. */
const MAX_IN_ONE_RUN = 2000;
const LONGEST_RETRY_AFTER_S = 24 * 3600;
const NOT_INSTALLED = 'The app is not installed any more';

/** State of a failing target; dropped when a delivery succeeds. */
interface Line {
  /** Consecutive failures; simultaneous ones count once. */
  failures: number;
  /** Nothing is sent before this time. */
  until: number;
}

const Payload = z.object({ targetKind: z.enum(['hook', 'channel']) });

/**
 * Creates the handler for a target's job, which sends all its pending deliveries that are due. Each target has its
 * own job, so a dead one delays only its own deliveries. A delivery stays in flight until its outcome is on disk: a
 * killed process repeats no more than that.
 */
export function createDeliverer({
  storage,
  clock,
  targets,
  metrics,
  hear,
  random = Math.random,
}: {
  storage: Storage;
  clock: Clock;
  targets: Targets;
  metrics: DeliveryMetrics;
  hear: Hear;
  /** Returns a number from 0 to 1, which spreads retries. */
  random?: () => number;
}): JobHandler {
  const record = createRecorder(storage);
  const lines = new Map<string, Line>();
  let probes = 0;

  return async (job, signal) => {
    const { targetKind } = Payload.parse(job.payload);
    const target = await targets.find(storage, targetKind, job.key);
    if (!target) return giveUp(targetKind, job.key);
    const line = lineOf(target);
    if (isHeld(line)) return { again: line.until };
    if (line.failures >= MAX_FAILURES) {
      if (probes >= MAX_PROBES) return { again: clock.now() + PROBE_WAIT_MS };
      await probe(target, line, signal);
    }
    await serve(target, line, { width: WIDTH[targetKind], limit: MAX_IN_ONE_RUN }, signal);
    if (target.isOff) lines.delete(target.id);
    const next = await storage.deliveries.nextAt(target.id);
    return next === null ? undefined : { again: Math.max(next, line.until) };
  };

  /** One transaction for the look and the change, because the target may have been switched on meanwhile. */
  function giveUp(kind: TargetKind, id: string): Awaited<ReturnType<JobHandler>> {
    lines.delete(id);
    return {
      async commit(tx) {
        const target = await targets.find(tx, kind, id);
        const now = clock.now();
        if (!target) await tx.deliveries.giveUp(id, now);
        else await tx.jobs.enqueue({ kind: DELIVER_JOB, key: id, runAt: now, payload: { targetKind: kind } });
      },
    };
  }

  /** A target that failed before this process began, or in another one, starts with a single attempt. */
  function lineOf({ id, failingSince }: Target): Line {
    const known = lines.get(id);
    if (known && failingSince !== null) return known;
    const line = { failures: failingSince === null ? 0 : MAX_FAILURES, until: 0 };
    lines.set(id, line);
    return line;
  }

  function isHeld({ until }: Line): boolean {
    return until > clock.now();
  }

  async function probe(target: Target, line: Line, signal: AbortSignal): Promise<void> {
    probes += 1;
    try {
      await serve(target, line, { width: 1, limit: 1 }, signal);
    } finally {
      probes -= 1;
    }
  }

  async function serve(
    target: Target,
    line: Line,
    { width, limit }: { width: number; limit: number },
    signal: AbortSignal,
  ): Promise<void> {
    const queue = dueOf(target.id);
    const mayReceive = createMayReceive(target);
    let left = limit;
    const workers = Array.from({ length: width }, async (_, worker) => {
      const goesOn = () =>
        left > 0 && !isHeld(line) && !target.isOff && (worker === 0 || line.failures === 0);
      while (goesOn()) {
        left -= 1;
        const delivery = await queue.next();
        if (!delivery) return;
        signal.throwIfAborted();
        if (await mayReceive(delivery)) await attempt(target, line, delivery, signal);
        else await record(refused(delivery), null);
        queue.done(delivery);
      }
    });
    const ended = await Promise.allSettled(workers);
    for (const worker of ended) if (worker.status === 'rejected') throw worker.reason;
    if (line.failures === 0) lines.delete(target.id);
  }

  /** Reads due deliveries, each once, a few at a time. */
  function dueOf(targetId: string) {
    const taken = new Set<string>();
    let ready: Delivery[] = [];
    let reading: Promise<void> | null = null;

    async function read(): Promise<void> {
      const before = new Set(taken); // a delivery that ended meanwhile may still have been due when it was read
      const due = await storage.deliveries.due(targetId, clock.now(), READ_AT_ONCE + before.size);
      ready = due.filter(({ id }) => !before.has(id));
      reading = null;
    }

    return {
      async next(): Promise<Delivery | undefined> {
        if (ready.length === 0) {
          reading ??= read();
          await reading;
        }
        const delivery = ready.shift();
        if (delivery) taken.add(delivery.id);
        return delivery;
      },
      /** Releases a delivery whose outcome is stored: it is not due any more. */
      done: ({ id }: Delivery) => void taken.delete(id),
    };
  }

  /** Checks that an app which receives data about a user is still installed. */
  function createMayReceive({ kind, appId }: Target) {
    const installed = new Map<string, Promise<boolean>>();
    return async ({ userId }: Delivery): Promise<boolean> => {
      if (kind !== 'hook' || appId === null) return true;
      const known =
        installed.get(userId) ?? storage.installations.get(userId, appId).then(found => found !== null);
      installed.set(userId, known);
      return known;
    };
  }

  function refused({ id: deliveryId, userId, attempts }: Delivery): DeliveryOutcome {
    const attempt = { deliveryId, userId, number: attempts + 1, at: clock.now(), tookMs: 0 };
    return {
      attempt: { ...attempt, status: null, error: NOT_INSTALLED, answer: null },
      state: 'failed',
      nextAt: null,
    };
  }

  async function attempt(target: Target, line: Line, delivery: Delivery, signal: AbortSignal): Promise<void> {
    const { id: deliveryId, userId, attempts, body } = delivery;
    const at = clock.now();
    const { failures } = line;
    const sent = await target.send({ ...delivery, body: body ?? '' }, signal);
    const now = clock.now();
    const number = attempts + 1;
    const delayMs = sent.verdict === 'retry' ? retryDelayMs(number, random(), sent.retryAfter) : null;
    const state = sent.verdict === 'delivered' ? 'delivered' : delayMs === null ? 'failed' : 'pending';
    note(line, sent, { now, failures });
    const { status, error, answer } = sent;
    await record(
      {
        attempt: { deliveryId, userId, number, at, tookMs: now - at, status, error, answer },
        state,
        nextAt: delayMs === null ? null : now + delayMs,
      },
      targets.follow(target, sent, { at: now, isFirst: number === 1 && delayMs !== null }),
    );
    metrics.attempted(target.kind, state === 'pending' ? 'again' : state, now - at);
    if (state === 'delivered') hear(delivery, sent);
  }

  /** @param failures the number when the attempt began */
  function note(
    line: Line,
    { verdict, retryAfter = 0 }: Sent,
    { now, failures }: { now: number; failures: number },
  ): void {
    if (verdict === 'delivered') Object.assign(line, { failures: 0, until: 0 });
    if (verdict !== 'retry') return;
    line.failures = Math.max(line.failures, failures + 1);
    const asked = Math.min(retryAfter, LONGEST_RETRY_AFTER_S) * 1000;
    line.until = Math.max(line.until, now + Math.max(asked, pauseMs(line.failures)));
  }

  function pauseMs(failures: number): number {
    if (failures < MAX_FAILURES) return 0;
    return Math.min(
      retryDelayMs(failures - MAX_FAILURES + 1, random()) ?? LONGEST_PAUSE_MS,
      LONGEST_PAUSE_MS,
    );
  }
}
