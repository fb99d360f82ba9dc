import type { Clock } from '../clock.ts';
import type { Link } from '../link.ts';
import { createQueue } from '../queue.ts';
import type { Advertisement, Radio, RadioCounts, RadioState } from '../radio.ts';
import { createWatched } from '../watched.ts';

/** One of several radios. */
export interface NamedRadio {
  /** As the configuration names it: `noble:hci1`. */
  name: string;
  radio: Radio;
}

/** How one of the radios can reach a device. */
interface Reach {
  part: NamedRadio;
  /** Id of the device on this radio. */
  id: string;
  rssi: number;
  atMs: number;
  /** Until then other radios are preferred, because a connection failed. */
  shunnedUntilMs: number;
}

const MAX_DEVICES = 1024;
/** Older sightings are not used to choose a radio. */
const FRESH_MS = 15_000;
/** Time after the first sighting in which the other radios may see the device, too, before one is chosen. */
const GATHER_MS = 1500;
const GATHER_STEP_MS = 50;
/** How long a radio is not preferred for a device after a connection failed. */
const SHUN_MS = 60_000;

/**
 * Combines several radios into one. Devices are identified by address, and connected by the radio with the best signal.
 * If that fails, the next attempt uses another one.
 */
export function joinRadios(parts: readonly NamedRadio[], { clock }: { clock: Clock }): Radio {
  /** By address, most recently heard last. */
  const reaches = new Map<string, { sinceMs: number; by: Map<Radio, Reach> }>();
  const state = createWatched<RadioState>(stateOf(parts));
  const watching = Promise.all(parts.map(follow));

  async function follow({ radio }: NamedRadio): Promise<void> {
    for await (const _ of radio.states()) {
      const next = stateOf(parts);
      if (next.name !== state.now.name || next.hint !== state.now.hint) state.become(next);
    }
  }

  function heard(part: NamedRadio, sighting: Advertisement): Advertisement {
    const { address, id, rssi } = sighting;
    const now = clock.now();
    const known = reaches.get(address);
    reaches.delete(address);
    const isNew = !known || fresh(known.by, now).length === 0;
    const by = known?.by ?? new Map<Radio, Reach>();
    const shunnedUntilMs = by.get(part.radio)?.shunnedUntilMs ?? 0;
    by.set(part.radio, { part, id, rssi, atMs: now, shunnedUntilMs });
    reaches.set(address, { sinceMs: isNew ? now : known.sinceMs, by });
    if (reaches.size > MAX_DEVICES) reaches.delete(reaches.keys().next().value ?? '');
    return { ...sighting, id: address, rssi: Math.max(...fresh(by, now).map(reach => reach.rssi)) };
  }

  /** Waits until the other radios have had time to hear the device, too. */
  async function gather(address: string, signal: AbortSignal): Promise<void> {
    const hearing = parts.filter(({ radio }) => radio.state.name === 'ready').length;
    for (let waitedMs = 0; waitedMs < GATHER_MS; waitedMs += GATHER_STEP_MS) {
      const known = reaches.get(address);
      const now = clock.now();
      if (!known || now - known.sinceMs >= GATHER_MS || fresh(known.by, now).length >= hearing) return;
      await clock.sleep(GATHER_STEP_MS, signal);
    }
  }

  function best(address: string): Reach | undefined {
    const now = clock.now();
    const rank = ({ shunnedUntilMs, rssi }: Reach) => (shunnedUntilMs > now ? rssi - 1000 : rssi);
    return fresh(reaches.get(address)?.by ?? new Map(), now)
      .filter(({ part }) => part.radio.state.name === 'ready')
      .sort((a, b) => rank(b) - rank(a))[0];
  }

  return {
    get state() {
      return state.now;
    },
    get counts() {
      return totalOf(parts.map(({ radio }) => radio.counts));
    },
    states: state.changes,
    async *scan(signal) {
      const queue = createQueue<Advertisement>(256);
      const ended = Promise.all(
        parts.map(async part => {
          for await (const sighting of part.radio.scan(signal)) queue.push(heard(part, sighting));
        }),
      ).finally(queue.end);
      yield* queue;
      await ended;
    },
    async connect(id, { signal }): Promise<Link> {
      await gather(id, signal);
      const reach = best(id);
      if (!reach) throw new Error(`the device ${id} is not in range`);
      try {
        const link = await reach.part.radio.connect(reach.id, { signal });
        reach.shunnedUntilMs = 0;
        return link;
      } catch (error) {
        reach.shunnedUntilMs = clock.now() + SHUN_MS;
        throw error;
      }
    },
    failed(error) {
      for (const { radio } of parts) radio.failed(error);
    },
    async close() {
      await Promise.all(parts.map(({ radio }) => radio.close()));
      await watching;
      state.end();
    },
  };
}

function fresh(by: ReadonlyMap<Radio, Reach>, now: number): Reach[] {
  return [...by.values()].filter(({ atMs }) => now - atMs < FRESH_MS);
}

/** The state of all together is the first of these that any of them has. */
const NAMES: readonly RadioState['name'][] = [
  'ready',
  'starting',
  'off',
  'unauthorized',
  'unsupported',
  'closed',
];

function stateOf(parts: readonly NamedRadio[]): RadioState {
  const name = NAMES.find(each => parts.some(({ radio }) => radio.state.name === each)) ?? 'closed';
  const hints = parts
    .filter(({ radio }) => radio.state.hint !== '')
    .map(part => `${part.name}: ${part.radio.state.hint}`);
  return { name, hint: hints.join('; ') };
}

function totalOf(all: readonly RadioCounts[]): RadioCounts {
  const total = { malformed: {} as Record<string, number>, restarts: 0 };
  for (const { malformed, restarts } of all) {
    total.restarts += restarts;
    for (const [kind, count] of Object.entries(malformed))
      total.malformed[kind] = (total.malformed[kind] ?? 0) + (count ?? 0);
  }
  return total;
}
