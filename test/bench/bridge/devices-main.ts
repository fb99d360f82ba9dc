/**
 * Simulated pendants and their receiver: `alone` is the Bluetooth library with an empty listener, `whole` the
 * bridge's path from notification to core. Both contain the simulation, so the difference is the bridge's
 * cost.
 */
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { startDevices } from '../../../bridge/devices/devices.ts';
import omi, { OMI_STREAM } from '../../../bridge/drivers/omi.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { createFrames, type Frames } from '../../../bridge/simulator/frames.ts';
import { createPendant } from '../../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { readWav } from '../../../bridge/simulator/wav.ts';
import { openSpool } from '../../../bridge/spool/spool.ts';
import { fixedKey } from '../../../bridge/uplink/key.ts';
import { startUplink } from '../../../bridge/uplink/uplink.ts';

export interface DevicesPlan {
  what: 'alone' | 'whole';
  devices: number;
  core: string;
  key: string;
  dir: string;
}

const OPUS_FS320 = 21;
const clock = createClock(Date.now);
const log = pino({ level: 'warn' }, process.stderr);

process.once('message', async (plan: DevicesPlan) => {
  const frames = await encoded();
  const controller = createController();
  for (let i = 1; i <= plan.devices; i++)
    controller.add(
      createPendant({
        address: `c0:ff:ee:00:00:0${i}`,
        name: `Omi ${i}`,
        codecId: OPUS_FS320,
        frames,
        loop: true,
        clock,
      }),
    );
  const radio = createNobleRadio({ log, clock, load: simulatedNoble(controller) });
  if (plan.what === 'alone') await listenAlone(radio, plan.devices);
  else await listenWhole(radio, plan);
  process.send?.({ event: 'streaming' });
});

/** All frames are encoded beforehand, as encoding is the pendant's work. */
async function encoded(): Promise<Frames> {
  const recording = new URL('../../../bridge/simulator/recording.wav', import.meta.url);
  const frames = createFrames(await readWav(recording.pathname), OPUS_FS320);
  frames.at(frames.length);
  return frames;
}

type Radio = ReturnType<typeof createNobleRadio>;

async function listenAlone(radio: Radio, devices: number): Promise<void> {
  const { service, characteristic } = OMI_STREAM.audio;
  const connected = new Set<string>();
  const enough = new AbortController();
  for await (const { id } of radio.scan(enough.signal)) {
    if (connected.has(id)) continue;
    connected.add(id);
    const link = await radio.connect(id, { signal: new AbortController().signal });
    await link.subscribe(service, characteristic, () => {});
    if (connected.size === devices) enough.abort();
  }
}

async function listenWhole(radio: Radio, { devices, core, key, dir }: DevicesPlan): Promise<void> {
  const spool = await openSpool({ dir, maxBytes: 256 * 1024 * 1024, clock, log });
  const carried = new Set<string>();
  const streaming = new Set<string>();
  const { promise, resolve } = Promise.withResolvers<void>();
  startDevices({
    radio,
    drivers: [omi],
    only: [],
    begin(info) {
      const { clientDeviceId } = info;
      if (!carried.has(clientDeviceId))
        startUplink({
          clientDeviceId,
          spool,
          core: async () => core,
          keys: fixedKey(key),
          conversationTimeoutS: 120,
          clock,
          log,
          onEvent() {},
        });
      carried.add(clientDeviceId);
      return spool.begin(info);
    },
    clock,
    log,
    onEvent(event) {
      if (event.event === 'device' && event.state === 'streaming') streaming.add(event.name);
      if (streaming.size === devices) resolve();
    },
  });
  await promise;
}
