/**
 * Simulated pendants, the bridge, and a WebSocket server that accepts everything: measures the latency of
 * each frame.
 */
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { type RawData, WebSocketServer } from 'ws';
import { createClock } from '../../../bridge/clock.ts';
import { startDevices } from '../../../bridge/devices/devices.ts';
import omi from '../../../bridge/drivers/omi.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import type { Sound } from '../../../bridge/simulator/board.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { createPendant } from '../../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { openSpool } from '../../../bridge/spool/spool.ts';
import { fixedKey } from '../../../bridge/uplink/key.ts';
import { startUplink } from '../../../bridge/uplink/uplink.ts';

export interface LatencyPlan {
  devices: number;
  warmMs: number;
  measureMs: number;
  dir: string;
}

export interface Latencies {
  event: 'measured';
  frames: number;
  /** ms, from the notification to the server's message. */
  p50: number;
  p99: number;
  most: number;
  /** Share of one core that the whole process took. */
  cpuPercent: number;
}

const FRAME_BYTES = 80;
const TIME_AT = 8;
const ACKNOWLEDGED = 50;
const clock = createClock(Date.now);
const log = pino({ level: 'warn' }, process.stderr);

/** Frames that contain their time. */
const sound: Sound = {
  length: Number.POSITIVE_INFINITY,
  frameMs: 20,
  at() {
    const frame = Buffer.alloc(FRAME_BYTES);
    frame.writeDoubleLE(performance.now(), TIME_AT);
    return frame;
  },
};

process.once('message', async (plan: LatencyPlan) => {
  process.setMaxListeners(1000);
  let taken: number[] = [];
  const core = await serve(ms => taken.push(ms));
  await carry(plan, core);
  await sleep(plan.warmMs);
  taken = [];
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  await sleep(plan.measureMs);
  const { user, system } = process.cpuUsage(before);
  const sorted = Float64Array.from(taken).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const answer: Latencies = {
    event: 'measured',
    frames: sorted.length,
    p50: at(0.5),
    p99: at(0.99),
    most: at(1),
    cpuPercent: (user + system) / 10 / (performance.now() - startedAt),
  };
  process.send?.(answer);
});

/** Implements as much of /v4/listen as the bridge needs. */
async function serve(onFrame: (ms: number) => void): Promise<string> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', socket => {
    let messages = 0;
    const session = {
      type: 'conversation_session',
      conversation_id: 'c',
      status: 'in_progress',
      received: 0,
    };
    socket.send(JSON.stringify(session));
    socket.on('message', (data: RawData, isBinary: boolean) => {
      const bytes = data as Buffer;
      if (!isBinary || bytes.length !== FRAME_BYTES) return;
      onFrame(performance.now() - bytes.readDoubleLE(TIME_AT));
      messages += 1;
      if (messages % ACKNOWLEDGED === 0)
        socket.send(JSON.stringify({ type: 'ack', messages, samples: messages * 320 }));
    });
  });
  await new Promise(resolve => server.once('listening', resolve));
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function carry({ devices, dir }: LatencyPlan, core: string): Promise<void> {
  const spool = await openSpool({ dir, maxBytes: 256 * 1024 * 1024, clock, log });
  const controller = createController();
  for (let number = 1; number <= devices; number++)
    controller.add(
      createPendant({
        address: `c0:ff:ee:00:00:${number.toString(16).padStart(2, '0')}`,
        name: `Omi ${number}`,
        ...{ codecId: 21, frames: sound, clock },
      }),
    );
  const carried = new Set<string>();
  const streaming = new Set<string>();
  const { promise, resolve } = Promise.withResolvers<void>();
  startDevices({
    radio: createNobleRadio({ log, clock, load: simulatedNoble(controller) }),
    drivers: [omi],
    only: [],
    begin(info) {
      const { clientDeviceId } = info;
      const to = { spool, core: async () => core, keys: fixedKey('k'), conversationTimeoutS: 120 };
      if (!carried.has(clientDeviceId)) startUplink({ clientDeviceId, ...to, clock, log, onEvent() {} });
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
