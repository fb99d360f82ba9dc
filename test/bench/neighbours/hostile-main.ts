/** Attacking clients: each connects, speaks a little, violates the WebSocket protocol, and reconnects. */
import { setTimeout as sleep } from 'node:timers/promises';
import { closing, encodeFrame, type Frame, OPCODE, openRawListen } from '../../helpers/raw-socket.ts';

export interface HostilePlan {
  url: string;
  key: string;
  clients: number;
  /** Minimum time between two attacks of a client. */
  everyMs: number;
}

const { continuation, text, binary, close, ping } = OPCODE;
const MiB = 1024 * 1024;
const ATTACKS: Frame[][] = [
  [{ opcode: binary, reserved: 4, payload: 'abc' }],
  [{ opcode: 3, payload: 'abc' }],
  [{ opcode: ping, payload: 'a'.repeat(126) }],
  [{ opcode: binary, payload: 'abc', masked: false }],
  [{ opcode: continuation, payload: 'abc' }],
  [{ opcode: text, payload: Buffer.from([0xce, 0xba, 0xed, 0xa0, 0x80]) }],
  [{ opcode: binary, payload: Buffer.alloc(MiB + 1) }],
  Array.from({ length: 1025 }, (_, i) => ({
    opcode: i === 0 ? binary : continuation,
    fin: false,
    payload: Buffer.alloc(1024),
  })),
  [{ opcode: binary, length: 2n ** 62n }],
  [{ opcode: close, payload: closing(999) }],
  Array.from({ length: 1000 }, () => ({ opcode: text, payload: '{"type":' })),
  Array.from({ length: 1000 }, () => ({ opcode: binary, payload: 'noise' })),
];
const ENCODED = ATTACKS.map(frames => Buffer.concat(frames.map(encodeFrame)));
/** Some of these attacks leave the server waiting for more. */
const PATIENCE_MS = 2000;

process.once('message', async (plan: HostilePlan) => {
  for (let number = 0; number < plan.clients; number++) void attackOn(plan, number);
});

async function attackOn({ url, key, everyMs }: HostilePlan, number: number): Promise<never> {
  const query = `codec=opus_fs320&conversation_timeout=600&client_device_id=hostile_${number}`;
  for (let round = 0; ; round++) {
    const soonest = sleep(everyMs);
    const raw = await openRawListen(url, key, query);
    raw.socket.write(ENCODED[(number + round) % ENCODED.length] ?? '');
    await Promise.race([raw.ended, sleep(PATIENCE_MS)]);
    raw.socket.destroy();
    await soonest;
  }
}
