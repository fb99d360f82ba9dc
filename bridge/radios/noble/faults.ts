import type { Logger } from 'pino';
import type { Clock } from '../../clock.ts';
import type { OnFault, RadioCounts } from '../../radio.ts';
import type { PacketFault, PacketKind } from './hci-packets.ts';

/** At most one fault of each kind is reported in this time, because any device nearby can cause any number of them. */
const TELL_EVERY_MS = 60_000;

export function createFaults({ log, clock, onFault }: { log: Logger; clock: Clock; onFault: OnFault }) {
  const counts: RadioCounts = { malformed: {}, restarts: 0 };
  const toldAt = new Map<PacketKind, number>();

  return {
    counts: counts as Readonly<RadioCounts>,
    restarted() {
      counts.restarts += 1;
    },
    /** @param device the name of the connected device that it came from */
    count({ kind, problem, address }: PacketFault, device: string | null): void {
      const count = (counts.malformed[kind] ?? 0) + 1;
      counts.malformed[kind] = count;
      const now = clock.now();
      if (now - (toldAt.get(kind) ?? Number.NEGATIVE_INFINITY) < TELL_EVERY_MS) return;
      toldAt.set(kind, now);
      const from = device ?? address ?? null;
      log.warn({ kind, from, count }, `ignored a malformed Bluetooth packet (${kind}): ${problem}`);
      onFault({ kind, problem, from, count });
    },
  };
}
