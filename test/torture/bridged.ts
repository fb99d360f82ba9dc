import { createClock } from '../../bridge/clock.ts';
import { openSpool } from '../../bridge/spool/spool.ts';
import { fixedKey } from '../../bridge/uplink/key.ts';
import { startUplink } from '../../bridge/uplink/uplink.ts';
import { createLog } from '../../core/runtime/log.ts';
import type { Device } from './careful.ts';
import type { Counts } from './connection.ts';
import { MESSAGE_MS, type Script, type ScriptOptions } from './script.ts';

interface BridgedOptions {
  /** Address of core, as the bridge is configured. */
  url: string;
  key: string;
  dir: string;
  id: string;
  source: string;
  codec: ScriptOptions['codec'];
  startedAtMs: number;
  timeoutS: number;
  script: Script;
  speed: number;
  patienceMs: number;
}

const TICK_MS = 20;
/** Time between the connections by which the device learns that core has everything. */
const CONFIRM_MS = 300;

/** Plays a wearable on the bridge: its audio goes into the bridge's spool, and from there to core. */
export async function startBridged(options: BridgedOptions): Promise<Device> {
  const { url, key, dir, id, script, speed, patienceMs } = options;
  const clock = createClock(Date.now);
  const log = createLog({ level: 'silent', format: 'json' });
  const spool = await openSpool({ dir, maxBytes: 2 ** 30, clock, log });
  const counts: Counts = { messages: 0, acks: 0, connections: 0 };
  const recording = spool.begin({
    clientDeviceId: id,
    deviceName: id,
    source: options.source,
    codec: options.codec,
    sampleRate: 16_000,
    frameMs: MESSAGE_MS,
    startedAtMs: options.startedAtMs,
  });
  const uplink = startUplink({
    clientDeviceId: id,
    spool,
    core: async () => url.replace('http', 'ws'),
    keys: fixedKey(key),
    conversationTimeoutS: options.timeoutS,
    clock,
    log,
    onEvent({ event }) {
      if (event === 'connected') counts.connections += 1;
    },
    limits: {
      helloMs: patienceMs,
      pingMs: patienceMs / 4,
      firstRetryMs: 50,
      maxRetryMs: 200,
      finalAckMs: CONFIRM_MS,
      confirmMs: CONFIRM_MS,
      slowRetryMs: CONFIRM_MS,
    },
  });
  const beganAt = performance.now();
  const timer = setInterval(() => {
    const due = ((performance.now() - beganAt) * speed) / MESSAGE_MS;
    while (!recording.ended && counts.messages < due) {
      const message = script.next();
      if (message) recording.append(message.bytes, message.gapMs);
      else recording.end();
      if (message) counts.messages += 1;
    }
  }, TICK_MS);

  return {
    counts,
    repeat: () => false,
    async finish() {
      script.end();
      while (!recording.ended || spool.recordings(id).length > 0) await clock.sleep(TICK_MS);
    },
    async stop() {
      clearInterval(timer);
      await uplink.stop();
      await spool.close();
    },
  };
}
