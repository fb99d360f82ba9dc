import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CoreProcess, coreProcess } from '../helpers/core-process.ts';
import { connectListen } from '../helpers/listen-client.ts';
import { type Member, startCrowd } from './crowd.ts';
import { createDice, type Dice } from './dice.ts';
import { judge, readAll, type Verdict } from './judge.ts';
import { FAULTS } from './line.ts';

export interface Plan {
  seed: number;
  devices: number;
  kills: number;
  cuts: number;
  /** Times real time. */
  speed: number;
  /** A stalled line stalls for so long. */
  stallMs: number;
}

export interface Report extends Verdict {
  kills: number;
  /** By fault; `again`: sent again what was confirmed. */
  cuts: Record<string, number>;
  messages: number;
  acks: number;
  connections: number;
  seconds: number;
}

export interface Stage {
  teardown(step: () => unknown): void;
  say(line: string): void;
}

const TONES = join(import.meta.dirname, '../fixtures/plugins/tones.ts');
export const TONES_CONFIG = {
  stt: ['tones'],
  plugins: { tones: { use: TONES }, silero: false as const },
  listen: { heartbeatMs: 2000 },
};
/** A server that is killed before it listens, now and then. */
const EARLY = 0.15;
const LIFE_MS = { least: 500, most: 4000 };
const CUT_MS = { least: 200, most: 4000 };
/** For all to be sent and written down at the end. */
const PATIENCE_MS = 120_000;

/** Lets devices talk while their server is killed and their lines are cut; tells what is stored in the end. */
export async function torture(stage: Stage, plan: Plan): Promise<Report> {
  const beganAt = performance.now();
  const core = await coreProcess(stage, TONES_CONFIG);
  const crowd = await startCrowd({ core, ...plan, dice: createDice(plan.seed) });
  stage.teardown(() => Promise.all(crowd.map(end)));
  const [, cuts] = await Promise.all([
    killOften(stage, core, plan.kills, createDice(plan.seed + 1)),
    cutOften(crowd, plan, createDice(plan.seed + 2)),
  ]);
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
  return {
    kills: plan.kills,
    cuts,
    messages: sum('messages'),
    acks: sum('acks'),
    connections: sum('connections'),
    ...judge(await readAll(core), crowd),
    seconds: Math.round((performance.now() - beganAt) / 1000),
  };
}

async function end({ client, line }: Member) {
  line.close();
  await client.stop();
}

async function killOften(stage: Stage, core: CoreProcess, kills: number, dice: Dice) {
  for (let done = 0; done < kills; done++) {
    await sleep(dice.between(LIFE_MS.least, LIFE_MS.most));
    await core.kill();
    if (dice.next() < EARLY && ++done < kills) await killEarly(core, dice);
    await core.start();
    if (done % 10 === 0) stage.say(`killed ${done + 1} times`);
  }
}

async function killEarly(core: CoreProcess, dice: Dice) {
  const starting = core.start().catch(() => {});
  await sleep(dice.between(0, LIFE_MS.least));
  await core.kill();
  await starting;
}

async function cutOften(crowd: Member[], { cuts, stallMs }: Plan, dice: Dice) {
  const counts: Record<string, number> = {};
  for (let done = 0; done < cuts; ) {
    await sleep(dice.between(CUT_MS.least, CUT_MS.most));
    const { client, line } = dice.pick(crowd);
    const fault = dice.pick([...FAULTS, 'again'] as const);
    const isDone = fault === 'again' ? client.repeat() : line.cut(fault, stallMs);
    if (!isDone) continue;
    done += 1;
    counts[fault] = (counts[fault] ?? 0) + 1;
  }
  return counts;
}

/** All that is held has become text, and its files are gone. */
export async function emptied(dir: string) {
  while ((await readdir(dir)).length > 0) await sleep(100);
}

/** What goes on is not listed. */
export async function endConversations(core: CoreProcess, source: string) {
  for (let ended = true; ended; ) {
    const client = await connectListen(core.url, core.key, { source, client_device_id: source });
    const answers = () => client.events.filter(event => event.type === 'conversation_finished');
    for (const count of [1, 2]) {
      client.socket.send('{"type":"finish_conversation"}'); // the second time the next one, which is empty
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
