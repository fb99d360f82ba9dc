import test from 'ava';
import { coreProcess } from '../helpers/core-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { connectListen } from '../helpers/listen-client.ts';
import { amount } from '../helpers/thorough.ts';
import { numberIn, runsIn } from './code.ts';
import { areDelivered, deliveriesTorture, judgeDeliveries } from './deliveries.ts';
import { createDice } from './dice.ts';
import { isGood, judge, LONGEST_ERROR_MS, readAll, type Spoken, type Stored } from './judge.ts';
import { emptied, endConversations, noneOpen, TONES_CONFIG, torture } from './run.ts';
import { createScript } from './script.ts';

/** A short form of `npm run torture`. */
const PLAN = {
  seed: 2026,
  devices: amount(3, 5),
  kills: amount(1, 4),
  cuts: amount(4, 10),
  speed: 4,
  stallMs: 4000,
  numbers: 40,
};

const EVENTS = amount(100, 1000);

test('however the server is killed and connections are cut, each confirmed number is stored once, in order, at its time', async t => {
  const stage = { teardown: (step: () => unknown) => t.teardown(async () => void (await step())), say() {} };
  const { counted, spoken, stored } = await torture(stage, PLAN);
  const verdict = judge(stored, spoken);
  t.log({ ...counted, ...verdict });
  const { numbers, unconfirmed, losses, doubles, disorder, debris, worstErrorMs } = verdict;
  t.deepEqual({ losses, doubles, disorder, debris }, { losses: [], doubles: [], disorder: [], debris: [] });
  t.true(worstErrorMs <= LONGEST_ERROR_MS, `${worstErrorMs} ms`);
  t.true(isGood(verdict));
  t.true(numbers > 100 && unconfirmed < numbers / 4, `${unconfirmed} of ${numbers} are not confirmed`);

  // The comparison detects every kind of fault.
  const lost = judge(
    changed(stored, () => []),
    spoken,
  );
  t.deepEqual([lost.losses.length, isGood(lost)], [1, false]);
  const doubled = judge(
    changed(stored, one => [one, { ...one, start: one.start + 1 }]),
    spoken,
  );
  t.deepEqual([doubled.doubles.length, isGood(doubled)], [1, false]);
  const shifted = judge(
    changed(stored, one => [{ ...one, start: one.start + 0.2 }]),
    spoken,
  );
  t.deepEqual([shifted.worstErrorMs > LONGEST_ERROR_MS, isGood(shifted)], [true, false]);
});

type Segment = Stored[0]['transcript_segments'][0];

/** Replaces one segment, a complete number of the first device, by others. */
function changed(stored: Stored, change: (segment: Segment) => Segment[]): Stored {
  const isWhole = ({ text }: Segment) => numberIn(runsIn(text))?.device === 0;
  const target = stored.flatMap(it => it.transcript_segments).find(isWhole);
  return stored.map(conversation => ({
    ...conversation,
    transcript_segments: conversation.transcript_segments.flatMap(it => (it === target ? change(it) : [it])),
  }));
}

test('audio of a client that only sends is transcribed from disk after it has disconnected', async t => {
  // Sending without a pause, a client answers no ping.
  const core = await coreProcess(t, { ...TONES_CONFIG, listen: { heartbeatMs: 600_000 } });
  const dice = createDice(7);
  const spoken: Spoken[] = [];
  for (const [device, source] of ['omi', 'friend', 'phone'].slice(0, amount(2, 3)).entries()) {
    const query = { codec: 'pcm16', sample_rate: 16_000, source, client_device_id: source };
    const client = await connectListen(core.url, core.key, query);
    const script = createScript({ device, codec: 'pcm16', pausesMs: [1200] });
    const numbers = dice.between(1, 4);
    for (let message = script.next(); message; message = script.next()) {
      client.socket.send(message.bytes);
      if (script.places.length === numbers) script.end();
    }
    await client.received();
    await synced(core.url);
    await core.kill();
    await client.closed;
    await core.start();
    spoken.push({ device, source, places: script.places, startedAt: null });
  }
  await emptied(`${core.dataDir}/audio`);
  for (const { source } of spoken) await endConversations(core, source);
  await noneOpen(core);
  const { losses, doubles, disorder, debris } = judge(await readAll(core), spoken);
  t.deepEqual({ losses, doubles, disorder, debris }, { losses: [], doubles: [], disorder: [], debris: [] });
});

/** Resolves once everything received is on disk. */
async function synced(url: string) {
  const metrics = async () => (await fetch(new URL('/metrics', url))).text();
  await eventually(
    metrics,
    text =>
      /^earshot_queue_bytes\{queue="messages"\} 0$/m.test(text) &&
      /^earshot_spool_bytes\{state="pending"\} 0$/m.test(text),
  );
}

test('however often the server is killed, every event is delivered to every webhook, rarely twice, and with one id', async t => {
  const stage = { teardown: (step: () => unknown) => t.teardown(async () => void (await step())), say() {} };
  const report = await deliveriesTorture(stage, { seed: 2026, events: EVENTS, kills: amount(1, 4) });
  t.log(report);
  t.like(report, { events: EVENTS, lost: 0, renamed: 0 });
  t.true(areDelivered(report));

  // The check would detect a fault.
  const told = (id: string, name: string) => ({
    headers: { 'webhook-id': name },
    body: Buffer.from(`{"id":"${id}"}`),
  });
  const faults = judgeDeliveries({
    committed: new Set(['lost', 'renamed']),
    received: [told('renamed', 'a'), told('renamed', 'b')],
    kills: 0,
    began: 0,
  });
  t.like(faults, { lost: 1, renamed: 1, doubles: 1, mostDoubles: 0 });
  t.false(areDelivered(faults));
  t.false(areDelivered({ ...report, lost: 1 }));
  t.false(areDelivered({ ...report, doubles: report.mostDoubles + 1 }));
});
