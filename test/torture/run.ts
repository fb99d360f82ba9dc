import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CoreProcess, coreProcess } from '../helpers/core-process.ts';
import { connectListen } from '../helpers/listen-client.ts';
import { KINDS, type Kind, type Member, startCrowd } from './crowd.ts';
import { createDice, type Dice } from './dice.ts';
import { readAll, type Spoken, type Stored } from './judge.ts';
import { FAULTS } from './line.ts';

export interface Plan {
  seed: number;
  devices: number;
  kills: number;
  cuts: number;
  /** Multiple of real time. */
  speed: number;
  /** Duration of a stall. */
  stallMs: number;
  /** Numbers that each device speaks at least. */
  numbers?: number;
}

export interface Counted {
  kills: number;
  /** Counts by fault; `again`: confirmed messages were sent again. */
  cuts: Record<string, number>;
  messages: number;
  acks: number;
  connections: number;
  seconds: number;
}

/** Speech of all devices, and the outcome. */
export interface Played {
  counted: Counted;
  spoken: Spoken[];
  stored: Stored;
}

export interface Stage {
  teardown(step: () => unknown): void;
  say(line: string): void;
}

const TONES = join(import.meta.dirname, '../fixtures/plugins/tones.ts');
/** The devices and their server. */
export interface Cast {
  config: Record<string, unknown>;
  kinds: readonly Kind[];
  /** Time between two kills of the server. */
  lifeMs: { least: number; most: number };
}

export const TONES_CONFIG = {
  stt: ['tones'],
  plugins: { tones: { use: TONES }, silero: false as const },
  listen: { heartbeatMs: 2000 },
};
const TONES_CAST: Cast = { config: TONES_CONFIG, kinds: KINDS, lifeMs: { least: 500, most: 4000 } };
/** Share of kills that hit the server before it listens. */
const EARLY = 0.15;
const EARLY_MS = 500;
const CUT_MS = { least: 200, most: 4000 };
/** Time to send and store the rest at the end, including everything that a slow machine postponed. */
const PATIENCE_MS = 600_000;

/** Lets devices speak while their server is killed and their lines fail; returns what is stored in the end. */
export async function torture(stage: Stage, plan: Plan, cast = TONES_CAST): Promise<Played> {
  const beganAt = performance.now();
  const core = await coreProcess(stage, cast.config);
  const crowd = await startCrowd({ core, ...plan, kinds: cast.kinds, dice: createDice(plan.seed) });
  stage.teardown(() => Promise.all(crowd.map(end)));
  const over = new AbortController();
  stage.teardown(() => over.abort());
  const nap = (ms: number) => sleep(ms, undefined, over);
  const [, cuts] = await Promise.all([
    killOften(stage, core, { ...plan, ...cast }, { nap, dice: createDice(plan.seed + 1) }),
    cutOften(crowd, plan, { nap, dice: createDice(plan.seed + 2) }),
  ]);
  while (crowd.some(({ places }) => places.length < (plan.numbers ?? 0))) await nap(100);
  stage.say('waiting until all is confirmed');
  await Promise.all(
    crowd.map(({ client, source }) => within(PATIENCE_MS, `the device ${source}`, client.finish())),
  );
  await Promise.all(crowd.map(end));
  await core.kill();
  await core.start();
  stage.say('waiting until all is written down');
  await within(PATIENCE_MS, 'the spool', emptied(join(core.dataDir, 'audio')));
  await Promise.all(crowd.map(({ source }) => endConversations(core, source)));
  await within(PATIENCE_MS, 'the conversations', noneOpen(core));
  const sum = (of: 'messages' | 'acks' | 'connections') =>
    crowd.reduce((total, { client }) => total + client.counts[of], 0);
  const counted = {
    kills: plan.kills,
    cuts,
    messages: sum('messages'),
    acks: sum('acks'),
    connections: sum('connections'),
    seconds: Math.round((performance.now() - beganAt) / 1000),
  };
  return { counted, spoken: crowd, stored: await readAll(core) };
}

async function end({ client, line }: Member) {
  line.close();
  await client.stop();
}

interface Chance {
  /** Rejects once the run is over: if one part fails, the other must not go on for ever. */
  nap(ms: number): Promise<void>;
  dice: Dice;
}

async function killOften(
  stage: Stage,
  core: CoreProcess,
  { kills, lifeMs }: Plan & Cast,
  { nap, dice }: Chance,
) {
  for (let done = 0; done < kills; done++) {
    await nap(dice.between(lifeMs.least, lifeMs.most));
    await core.kill();
    if (dice.next() < EARLY && ++done < kills) await killEarly(core, dice);
    await core.start();
    if (done % 10 === 0) stage.say(`killed ${done + 1} times`);
  }
}

async function killEarly(core: CoreProcess, dice: Dice) {
  const starting = core.start().catch(() => {});
  await sleep(dice.between(0, EARLY_MS));
  await core.kill();
  await starting;
}

async function cutOften(crowd: Member[], { cuts, stallMs }: Plan, { nap, dice }: Chance) {
  const counts: Record<string, number> = {};
  for (let done = 0; done < cuts; ) {
    await nap(dice.between(CUT_MS.least, CUT_MS.most));
    const { client, line } = dice.pick(crowd);
    const fault = dice.pick([...FAULTS, 'again'] as const);
    const isDone = fault === 'again' ? client.repeat() : line.cut(fault, stallMs);
    if (!isDone) continue;
    done += 1;
    counts[fault] = (counts[fault] ?? 0) + 1;
  }
  return counts;
}

/** Resolves once all held audio has become text and its files are deleted. */
export async function emptied(dir: string) {
  while ((await readdir(dir)).length > 0) await sleep(100);
}

/** Ends conversations, because lists leave out open ones. */
export async function endConversations(core: CoreProcess, source: string, deviceId = source) {
  for (let ended = true; ended; ) {
    const client = await connectListen(core.url, core.key, { source, client_device_id: deviceId });
    const answers = () => client.events.filter(event => event.type === 'conversation_finished');
    for (const count of [1, 2]) {
      client.socket.send('{"type":"finish_conversation"}'); // the second request ends the next one, which is empty
      await client.until('conversation_finished', () => answers().length === count);
    }
    ended = answers()[0]?.conversation_id !== null;
    client.socket.close();
    await client.closed;
  }
}

export async function noneOpen(core: CoreProcess) {
  for (;;) {
    const metrics = await (await fetch(new URL('/metrics', core.url))).text();
    const unfinished = metrics.match(/^earshot_jobs\{.*state="(due|running|failed)".*\} [1-9]/gm);
    if (!unfinished) return;
    await sleep(100);
  }
}

async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const late = new AbortController();
  const limit = sleep(ms, undefined, late).then(() => {
    throw new Error(`${what} did not come to an end within ${ms / 1000} s`);
  });
  limit.catch(() => {});
  return Promise.race([work, limit]).finally(() => late.abort());
}
