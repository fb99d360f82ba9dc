import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Check } from './examination.ts';

const BRIDGE = fileURLToPath(new URL('../../../bridge/bin.mjs', import.meta.url));

const Answer = z.object({
  findings: z.array(
    z.object({
      what: z.string(),
      level: z.enum(['good', 'note', 'doubt', 'bad']),
      detail: z.string(),
      cure: z.string().nullable(),
    }),
  ),
});

/** Asks the bridge in a separate process, because the Bluetooth library is native code. */
export const bluetoothCheck: Check = {
  group: 'Bluetooth',
  what: 'adapter',
  limitMs: 15_000,
  cure: 'look at the adapter: ls /sys/class/bluetooth',
  async look(_patient, signal) {
    const asking = promisify(execFile)(process.execPath, [BRIDGE, 'doctor', '--json'], { signal });
    const { findings } = Answer.parse(JSON.parse((await asking).stdout));
    return findings.map(finding => ({ group: 'Bluetooth', ...finding }));
  },
};
