import type { Logger } from 'pino';
import type { Clock } from './clock.ts';
import type { PacketFault, PacketKind } from './hci-packets.ts';

/** A malformed packet that was told of; `count`: how many of its kind there were by then. */
export interface ToldFault {
  kind: PacketKind;
  problem: string;
  /** Address of a stranger, or name of a connected device; null: it cannot be told. */
  from: string | null;
  count: number;
}
export type OnFault = (fault: ToldFault) => void;

export interface RadioCounts {
  /** Packets that the library was not given, by kind. */
  malformed: Partial<Record<PacketKind, number>>;
  /** Times that the library was started again after a failure. */
  restarts: number;
}

/** Anybody in reach can send any number, so only one of each kind is told in this time. */
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
