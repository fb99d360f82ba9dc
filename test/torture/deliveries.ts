import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliveringPlan, Order, Said } from '../helpers/delivering-main.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { createDice } from './dice.ts';
import type { Stage } from './run.ts';

const MAIN = join(import.meta.dirname, '../helpers/delivering-main.ts');
const TARGETS = 4;
/** Deliveries in progress per target. */
const WIDTH = 8;
const LEASE_MS = 3000;
/** Time between two kills of the server. */
const LIFE_MS = { from: 300, to: 5000 };
const AT_ONCE = 50;
const STALL_MS = 60_000;

export interface DeliveriesPlan {
  seed: number;
  events: number;
  kills: number;
}

export interface DeliveriesReport {
  events: number;
  kills: number;
  /** Committed events that never arrived. */
  lost: number;
  /** Requests for an event after its first one. */
  doubles: number;
  /** Highest acceptable number of them. */
  mostDoubles: number;
  /** Events that arrived under more than one id. */
  renamed: number;
  seconds: number;
}

/** Kills a server repeatedly while it creates and delivers events; every committed event must arrive. */
export async function deliveriesTorture(
  stage: Stage,
  { seed, events, kills }: DeliveriesPlan,
): Promise<DeliveriesReport> {
  const began = performance.now();
  const dice = createDice(seed);
  const dir = await mkdtemp(join(tmpdir(), 'earshot-deliveries-'));
  stage.teardown(() => rm(dir, { recursive: true, force: true }));
  const receiver = await startReceiver({ teardown: stage.teardown as never });
  const plan: DeliveringPlan = {
    file: join(dir, 'earshot.db'),
    urls: Array<string>(TARGETS).fill(receiver.url),
    leaseMs: LEASE_MS,
    isStarted: true,
  };
  const wanted = Array.from({ length: TARGETS }, () => new Set<string>());
  for (let n = 0; n < events; n += 1) wanted[n % TARGETS]?.add(randomUUID());
  const committed = new Set<string>();
  let child: ChildProcess | null = null;
  stage.teardown(() => child?.kill('SIGKILL'));

  async function live(): Promise<{ born: ChildProcess; ready: Promise<unknown> }> {
    const born = fork(MAIN, [JSON.stringify(plan)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child = born;
    /** Deliveries in progress of each user, until a batch is done. */
    const underWay = wanted.map(() => new Set<string>());
    const order = (index: number) => {
      const ids = [...(wanted[index] ?? [])].slice(0, AT_ONCE);
      for (const id of ids) underWay[index]?.add(id);
      const next: Order = { order: 'complete', userId: `u${index}`, ids };
      if (ids.length > 0 && born.connected) born.send(next, () => {}); // it may just have been killed
    };
    const { promise: ready, resolve } = Promise.withResolvers<void>();
    born.once('exit', () => resolve());
    born.on('message', (said: Said) => {
      if (said.event === 'ready') {
        resolve();
        for (const index of wanted.keys()) order(index);
      }
      if (said.event !== 'done') return;
      committed.add(said.id);
      for (const [index, left] of wanted.entries())
        if (left.delete(said.id) && underWay[index]?.delete(said.id) && underWay[index].size === 0)
          order(index);
    });
    return { born, ready };
  }

  const arrived = () => new Set(receiver.received.map(({ body }) => JSON.parse(String(body)).id as string));
  for (let kill = 0; kill < kills; kill += 1) {
    const { born, ready } = await live();
    if (kill % 2 === 1) await ready; // otherwise a slow machine would only ever see it killed at its start
    await sleep(dice.between(LIFE_MS.from, LIFE_MS.to));
    const dead = once(born, 'exit');
    born.kill('SIGKILL');
    await dead;
    stage.say(`kill ${kill + 1}: ${committed.size} committed, ${receiver.received.length} requests`);
  }
  await live();
  for (let [count, at] = [-1, performance.now()]; arrived().size < events; ) {
    if (receiver.received.length !== count) [count, at] = [receiver.received.length, performance.now()];
    if (performance.now() - at > STALL_MS) break;
    await sleep(200);
  }
  return judgeDeliveries({ committed, received: receiver.received, kills, began });
}

interface Evidence {
  committed: ReadonlySet<string>;
  received: readonly { headers: Record<string, unknown>; body: Buffer }[];
  kills: number;
  began: number;
}

export function judgeDeliveries({ committed, received, kills, began }: Evidence): DeliveriesReport {
  const byEvent = Map.groupBy(received, ({ body }) => JSON.parse(String(body)).id as string);
  const names = [...byEvent.values()].map(
    all => new Set(all.map(({ headers }) => headers['webhook-id'])).size,
  );
  return {
    events: committed.size,
    kills,
    lost: [...committed].filter(id => !byEvent.has(id)).length,
    doubles: received.length - byEvent.size,
    mostDoubles: kills * WIDTH * TARGETS,
    renamed: names.filter(count => count > 1).length,
    seconds: (performance.now() - began) / 1000,
  };
}

export const areDelivered = ({ lost, doubles, mostDoubles, renamed }: DeliveriesReport) =>
  lost === 0 && renamed === 0 && doubles <= mostDoubles;
