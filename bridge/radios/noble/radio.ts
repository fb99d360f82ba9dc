import type { Logger } from 'pino';
import { createBackoff } from '../../backoff.ts';
import type { Clock } from '../../clock.ts';
import { guard, LinkLostError, TimeLimitError } from '../../guard.ts';
import type { Link } from '../../link.ts';
import { oneAtATime } from '../../one-at-a-time.ts';
import { createQueue, type Queue } from '../../queue.ts';
import type { OnFault, Radio, RadioState } from '../../radio.ts';
import { type Adapter, openAdapter } from './adapter.ts';
import { createFaults } from './faults.ts';
import { firstLine, type LoadNoble, loadNoble } from './library.ts';
import { createLink, type LinkControl, type LinkLimits } from './link.ts';
import type { Peripheral } from './noble.ts';
import { createScanner, type ScannerLimits } from './scanner.ts';
import { scanRefused, silentAdapter, stateFromFailure, stateFromLibrary, stateOf } from './states.ts';

export interface RadioLimits extends LinkLimits, ScannerLimits {
  /** Until a device must have answered a connection request. */
  connectMs: number;
  /** Time after which an adapter that is missing or does not answer at the start is tried again. */
  askAgainMs: number;
  /** First pause before the library is restarted after two failures within a minute; doubles. */
  renewMs: number;
}

const LIMITS: RadioLimits = {
  attMs: 5000,
  disconnectMs: 3000,
  connectMs: 15_000,
  rescanMs: 30_000,
  askAgainMs: 10_000,
  scanRetryMs: 1000,
  renewMs: 1000,
};

const MAX_CONNECT_TIMEOUTS = 3;
const SETTLE_MS = 1500;
const MAX_ASK_AGAIN_MS = 300_000;
/** Longest pause before a restart, as a multiple of the first. After as long without a failure, there is no pause. */
const MAX_RENEWALS = 60;

/** A Bluetooth adapter through noble, which speaks to it over an HCI socket, or through what the system offers. */
export function createNobleRadio({
  log,
  clock,
  load = loadNoble,
  onFault = () => {},
  limits: given = {},
}: {
  log: Logger;
  clock: Clock;
  load?: LoadNoble;
  onFault?: OnFault;
  limits?: Partial<RadioLimits>;
}): Radio {
  const limits = { ...LIMITS, ...given };
  const watchers = new Set<Queue<RadioState>>();
  const links = new Set<LinkControl>();
  const faults = createFaults({ log, clock, onFault });
  const quietMs = limits.renewMs * MAX_RENEWALS;
  const renewals = createBackoff({ firstMs: limits.renewMs, maxMs: quietMs });
  const asks = createBackoff({ firstMs: limits.askAgainMs, maxMs: MAX_ASK_AGAIN_MS });
  let state = stateOf('starting');
  let adapter: Adapter | null = null;
  const inTurn = oneAtATime();
  /** The connection attempt in progress, and how to abort it when the adapter is gone. */
  let connecting: { id: string; lose(reason: string): void } | null = null;
  let offTimer: NodeJS.Timeout | null = null;
  let askTimer: NodeJS.Timeout | null = null;
  let renewTimer: NodeJS.Timeout | null = null;
  let lastRenewalAt = 0;
  let failures = 0;

  const scanner = createScanner(
    {
      adapter: () => adapter,
      isReady: () => state.name === 'ready',
      isConnecting: () => connecting !== null,
      onRefusal: reason => become(reason === null ? stateOf('ready') : scanRefused(reason)),
      restart() {
        if (links.size > 0) return false;
        reopen('the Bluetooth adapter did not scan, and its library was restarted');
        return true;
      },
    },
    { log, clock, limits },
  );

  function become(next: RadioState, why?: string): void {
    if (offTimer) clearTimeout(offTimer);
    offTimer = null;
    if (state.name === 'closed' || (state.name === next.name && state.hint === next.hint)) return;
    const was = state.name;
    state = next;
    if (was === 'ready' && next.name !== 'ready')
      lose(why ?? (next.name === 'off' ? 'the Bluetooth adapter was switched off' : 'the radio was closed'));
    for (const watcher of watchers) watcher.push(state);
    if (next.name === 'unsupported') askAgainLater();
    if (next.name === 'ready' && was !== 'ready') {
      asks.reset();
      void scanner.update();
    }
  }

  /** Ends all links and forgets all devices: not every library reports that when the adapter is gone. */
  function lose(reason: string): void {
    connecting?.lose(reason);
    for (const link of links) link.lose(reason);
    links.clear();
    scanner.forget();
  }

  // ── the library ───────────────────────────────────────────────────────────────────────────────────────────────

  function open(libraryLog = log): void {
    askAgainLater();
    try {
      adapter = openAdapter(load(libraryLog), {
        onState,
        onSighting: scanner.onSighting,
        onScanStop: () => void scanner.update(),
        needed,
        onFault: (fault, device) => faults.count(fault, device && nameOf(device)),
        onBroken,
        onBrokenLink,
        onRefusal: (device, refusal) => linkTo(device)?.refused(refusal),
      });
    } catch (error) {
      become(stateFromFailure(firstLine(error)));
    }
  }

  function onState(word: string): void {
    const next = stateFromLibrary(word);
    if (!next) return;
    // The library still has state from before, such as calls that never end. A new instance has none.
    if (next.name === 'ready' && state.name === 'off') reopen();
    // Right after opening, "off" may only mean that the library does not know yet why it cannot use the adapter.
    else if (next.name === 'off' && (state.name === 'starting' || state.name === 'unsupported'))
      offTimer = setTimeout(() => become(next), SETTLE_MS).unref();
    else become(next);
  }

  function reopen(why?: string): void {
    dispose();
    become(stateOf('starting'), why);
    open();
  }

  function dispose(): void {
    adapter?.dispose();
    adapter = null;
    for (const timer of [askTimer, renewTimer]) if (timer) clearTimeout(timer);
    askTimer = null;
    renewTimer = null;
  }

  /** Reopens an adapter that does not answer: the libraries ask it only once. */
  function askAgainLater(): void {
    askTimer ??= setTimeout(askAgain, asks.next());
  }

  function askAgain(): void {
    askTimer = null;
    if (state.name !== 'starting' && state.name !== 'unsupported') return;
    if (state.name === 'starting') become(silentAdapter());
    dispose();
    open(log.child({}, { level: 'warn' })); // not to log the same lines at every try
  }

  /** Restarts the library after a failure: only a new instance is in a known state. */
  function onBroken(problem: string): void {
    if (renewTimer || state.name === 'closed') return;
    const sinceMs = clock.now() - lastRenewalAt;
    if (sinceMs > quietMs) renewals.reset();
    const waitMs = sinceMs > quietMs ? 0 : renewals.next();
    log.error({ problem, waitMs }, 'the Bluetooth library failed, and is restarted');
    renewTimer = setTimeout(() => {
      lastRenewalAt = clock.now();
      faults.restarted();
      reopen('the Bluetooth library failed, and was restarted');
    }, waitMs);
  }

  function onBrokenLink(device: string, problem: string): void {
    const link = linkTo(device);
    if (link) link.fail(problem);
    else if (connecting?.id === device) connecting.lose(problem);
  }

  function linkTo(device: string): LinkControl | undefined {
    return [...links].find(({ link }) => link.id === device);
  }

  function nameOf(device: string): string {
    return linkTo(device)?.link.name ?? device;
  }

  function needed(): ReadonlySet<string> {
    return new Set([...scanner.ids(), ...inUse()]);
  }

  function inUse(): ReadonlySet<string> {
    const ids = new Set([...links].map(({ link }) => link.id));
    if (connecting) ids.add(connecting.id);
    return ids;
  }

  const strays = setInterval(() => {
    if (!connecting) adapter?.closeStrays(inUse());
  }, limits.rescanMs / 2);
  strays.unref();

  // ── connecting ────────────────────────────────────────────────────────────────────────────────────────────────

  async function connectNow(id: string, signal: AbortSignal): Promise<Link> {
    signal.throwIfAborted();
    const peripheral = scanner.find(id);
    const through = adapter;
    if (!peripheral || !through || state.name !== 'ready')
      throw new Error(`the device ${id} is not in range`);
    const lost = Promise.withResolvers<string>();
    const mine = { id, lose: lost.resolve };
    connecting = mine;
    try {
      await scanner.update(); // many adapters cannot scan and connect at once
      // A library that was replaced meanwhile would still reach the adapter, and connect the device without any use.
      if (adapter !== through) throw new LinkLostError(`connecting: ${await lost.promise}`);
      await guard('connecting', request(through, peripheral, signal), {
        limitMs: limits.connectMs,
        lost: lost.promise,
      });
      failures = 0;
      return keep(createLink(peripheral, limits, through));
    } catch (error) {
      if (error instanceof TimeLimitError) failures += 1;
      if (!(error instanceof LinkLostError)) through.cancel(peripheral);
      throw error;
    } finally {
      connecting = null;
      scanner.resetSilence();
      if (failures >= MAX_CONNECT_TIMEOUTS && links.size === 0) renew();
      else void scanner.update();
    }
  }

  function keep(control: LinkControl): Link {
    links.add(control);
    void control.link.closed.then(() => links.delete(control));
    return control.link;
  }

  /** Restarts the library if connection requests keep timing out: one of them may hang in it. */
  function renew(): void {
    failures = 0;
    log.warn('several connections timed out in a row: the Bluetooth library is restarted');
    faults.restarted();
    reopen();
  }

  function request(through: Adapter, peripheral: Peripheral, signal: AbortSignal): Promise<void> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort);
    return Promise.race([through.connect(peripheral), aborted]).finally(() =>
      signal.removeEventListener('abort', onAbort),
    );
  }

  open();
  return {
    get state() {
      return state;
    },
    counts: faults.counts,
    async *states() {
      const queue = createQueue<RadioState>(16);
      queue.push(state);
      watchers.add(queue);
      if (state.name === 'closed') queue.end();
      try {
        yield* queue;
      } finally {
        watchers.delete(queue);
      }
    },
    scan: scanner.scan,
    connect(id, { signal }) {
      return inTurn(() => connectNow(id, signal));
    },
    failed: error => onBroken(firstLine(error)),
    async close() {
      if (state.name === 'closed') return;
      clearInterval(strays);
      await scanner.end();
      await Promise.all([...links].map(({ link }) => link.disconnect()));
      become(stateOf('closed'));
      dispose();
      for (const watcher of watchers) watcher.end();
    },
  };
}
