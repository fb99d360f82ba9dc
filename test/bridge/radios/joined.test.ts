import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import type { Advertisement, Radio } from '../../../bridge/radio.ts';
import { joinRadios } from '../../../bridge/radios/joined.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { AUDIO_CODEC, AUDIO_SERVICE, createPendant } from '../../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { eventually } from '../../helpers/eventually.ts';

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const never = new AbortController().signal;

/** Two adapters through the real Bluetooth library, each on its own virtual controller. */
function setUp(t: ExecutionContext, signalsDbm: readonly number[] = [-50, -50]) {
  const adapters = signalsDbm.map((signalDbm, index) => {
    const controller = createController();
    // The same pendant in range of each, with different codecs to identify a connection.
    const pendant = createPendant({ codecId: FIRST_CODEC + index, frames: null, clock });
    controller.add(Object.assign(pendant, { signalDbm }));
    const limits = { connectMs: 60_000, attMs: 60_000, disconnectMs: 60_000 };
    const radio = createNobleRadio({ log, clock, load: simulatedNoble(controller), limits });
    return { controller, pendant, radio, name: `noble:hci${index}` };
  });
  const radio = joinRadios(adapters, { clock });
  t.teardown(radio.close);
  return { adapters, radio };
}
const FIRST_CODEC = 20;
const ADDRESS = 'c0:ff:ee:00:00:01';

/** Resolves to the next device sighted. */
async function first(radio: Radio): Promise<Advertisement> {
  const looking = new AbortController();
  for await (const sighting of radio.scan(looking.signal)) return sighting;
  throw new Error('the scan ended');
}

/** Sightings continue while a connection is pending, as in the bridge. */
function look(t: ExecutionContext, radio: Radio): Promise<void> {
  const looking = new AbortController();
  t.teardown(() => looking.abort());
  return (async () => {
    for await (const _ of radio.scan(looking.signal));
  })();
}

/** Number of the adapter that made a connection. */
async function adapterOf(radio: Radio): Promise<number> {
  const link = await radio.connect(ADDRESS, { signal: never });
  const [codec = 0] = await link.read(AUDIO_SERVICE, AUDIO_CODEC);
  await link.disconnect();
  return codec - FIRST_CODEC;
}

for (const [better, signalsDbm] of [
  [0, [-48, -80]],
  [1, [-80, -48]],
] as const)
  test.serial(
    `a wearable is connected by the adapter with the better signal: ${signalsDbm.join(' and ')} dBm`,
    async t => {
      const { radio } = setUp(t, signalsDbm);
      t.like(await first(radio), { id: ADDRESS, address: ADDRESS, name: 'Omi' });
      void look(t, radio);
      t.is(await adapterOf(radio), better);
      t.true((await first(radio)).rssi <= -48);
    },
  );

test.serial('if the better adapter cannot connect, the other makes the next attempt', async t => {
  const { adapters, radio } = setUp(t, [-48, -80]);
  await first(radio);
  void look(t, radio);
  const [strong] = adapters;
  if (strong) strong.pendant.faults.attempt = 0x3e;
  await t.throwsAsync(radio.connect(ADDRESS, { signal: never }));
  // It may take a moment until the other one has seen it.
  t.is(await eventually(() => adapterOf(radio).catch(() => null)), 1);
});

test.serial('an adapter that is switched off is reported by its name, and the other continues', async t => {
  const { adapters, radio } = setUp(t, [-48, -80]);
  await first(radio);
  void look(t, radio);
  const link = await radio.connect(ADDRESS, { signal: never });
  adapters[0]?.controller.setUp(false);
  t.regex(await link.closed, /switched off/);
  await eventually(() => /^noble:hci0: .*is off/.test(radio.state.hint));
  t.is(radio.state.name, 'ready');
  t.is(await adapterOf(radio), 1);
  adapters[1]?.controller.setUp(false);
  await eventually(() => radio.state.name === 'off');
  t.regex(radio.state.hint, /noble:hci0: .*; noble:hci1: /);
});

test.serial('counts are totals, and a failure of the library is reported to each', async t => {
  const { adapters, radio } = setUp(t);
  await first(radio);
  radio.failed(new Error('thrown by nobody in particular'));
  await eventually(() => radio.counts.restarts === adapters.length);
  t.deepEqual(
    adapters.map(adapter => adapter.radio.counts.restarts),
    [1, 1],
  );
});

test.serial('a device that is no longer seen is refused, and closing ends every scan', async t => {
  const { radio } = setUp(t);
  await t.throwsAsync(radio.connect('c0:ff:ee:00:00:99', { signal: never }), { message: /not in range/ });
  const ended = look(t, radio);
  await radio.close();
  await ended;
  t.is(radio.state.name, 'closed');
});
