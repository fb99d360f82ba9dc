import type { Logger } from 'pino';
import type { Clock } from '../../clock.ts';
import { SERVICE } from '../../drivers/lan-board.ts';
import type { Link } from '../../link.ts';
import type { OnFault, Radio, RadioCounts, RadioState } from '../../radio.ts';
import { createWatched } from '../../watched.ts';
import { createScans } from '../scans.ts';
import { readBoards, versionOfBoards } from './boards.ts';
import { createBoardLink } from './link.ts';
import { openPorts, type PortLimits, type Ports } from './ports.ts';
import { createReception } from './reception.ts';
import type { BoardSession, SessionLimits } from './session.ts';

export interface LanRadio extends Radio {
  /** Port on which it listens; null: it does not listen yet. */
  readonly port: number | null;
}

export interface LanLimits extends SessionLimits, PortLimits {
  /** Pause before the port is tried again. */
  reopenMs: number;
  /** Interval at which boards without a link are reported to scans. */
  announceMs: number;
  /** Interval at which the file of boards is checked for changes. */
  boardsMs: number;
}

const LIMITS: LanLimits = {
  silentMs: 15_000,
  messagesPerSecond: 250,
  bytesPerSecond: 256 * 1024,
  helloMs: 5000,
  reopenMs: 30_000,
  announceMs: 1000,
  boardsMs: 5000,
};

/** At most one fault is reported in this time; the others are only counted. */
const TELL_EVERY_MS = 60_000;
/** Kind under which all malformed messages are counted. */
const KIND = 'lan';

/**
 * Creates a radio for boards that stream to this machine over TCP, WebSocket or UDP, as docs/lan-boards.md describes.
 * @param dir where the bridge keeps the tokens of boards
 */
export function createLanRadio({
  host,
  port,
  dir,
  log,
  clock,
  onFault = () => {},
  limits: given = {},
}: {
  host: string;
  port: number;
  dir: string;
  log: Logger;
  clock: Clock;
  onFault?: OnFault;
  limits?: Partial<LanLimits>;
}): LanRadio {
  const limits = { ...LIMITS, ...given };
  const state = createWatched<RadioState>({ name: 'starting', hint: '' });
  const counts = { malformed: {} as Record<string, number>, restarts: 0 } satisfies RadioCounts;
  const scans = createScans();
  const linked = new WeakSet<BoardSession>();
  const stopping = new AbortController();
  let ports: Ports | null = null;
  let toldAt = Number.NEGATIVE_INFINITY;

  const reception = createReception({
    clock,
    limits,
    onSession(session) {
      const { codec } = session.introduction;
      log.info({ device: session.board.id, from: session.peer.name, codec }, 'board connected');
      announce(session);
    },
    onMalformed(problem, from) {
      const count = (counts.malformed[KIND] ?? 0) + 1;
      counts.malformed[KIND] = count;
      if (clock.now() - toldAt < TELL_EVERY_MS) return;
      toldAt = clock.now();
      log.warn({ from, count }, `received something invalid from the local network: ${problem}`);
      onFault({ kind: KIND, problem, from, count });
    },
  });

  function announce({ board, isOver }: BoardSession): void {
    const { id } = board;
    if (isOver) return;
    const sighting = { id, address: id, name: id, serviceUuids: [SERVICE], manufacturerData: null, rssi: 0 };
    scans.push({ ...sighting, isAdmitted: true });
  }

  function announceAll(): void {
    for (const session of reception.sessions.values()) if (!linked.has(session)) announce(session);
  }

  const announcing = setInterval(announceAll, limits.announceMs);
  announcing.unref();

  let version = '';

  async function refreshBoards(): Promise<void> {
    const now = await versionOfBoards(dir);
    if (now === version) return;
    version = now;
    await readBoards(dir).then(reception.admit, error => log.error(error.message));
  }

  async function followBoards(): Promise<void> {
    for (;;) {
      await clock.sleep(limits.boardsMs, stopping.signal).catch(() => {});
      if (stopping.signal.aborted) return;
      await refreshBoards();
    }
  }

  /** Knows the boards before it listens, so that none of them is refused at the start. */
  async function serve(): Promise<void> {
    await refreshBoards();
    await Promise.all([followBoards(), listen()]);
  }

  async function listen(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        ports = await openPorts({ host, port }, reception, limits);
        if (stopping.signal.aborted) return ports.close();
        log.info({ host, port: ports.port }, 'listening for boards on the local network');
        return state.become({ name: 'ready', hint: '' });
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        const hint = `boards of the local network cannot connect: ${reason}; choose another bridge.lan.port`;
        if (state.now.hint !== hint) state.become({ name: 'unsupported', hint });
      }
      await clock.sleep(limits.reopenMs, stopping.signal).catch(() => {});
    }
  }

  const work = serve();
  return {
    get port() {
      return ports?.port ?? null;
    },
    get state() {
      return state.now;
    },
    counts,
    states: state.changes,
    scan: signal => scans.open(signal, announceAll),
    async connect(id, { signal }): Promise<Link> {
      signal.throwIfAborted();
      const session = reception.sessions.get(id);
      if (!session || session.isOver) throw new Error(`the board ${id} is not connected`);
      if (linked.has(session)) throw new Error(`the board ${id} is in use already`);
      linked.add(session);
      return createBoardLink(session, id);
    },
    failed() {},
    async close() {
      if (stopping.signal.aborted) return;
      stopping.abort();
      clearInterval(announcing);
      reception.close();
      scans.end();
      await work;
      await ports?.close();
      state.become({ name: 'closed', hint: '' });
      state.end();
    },
  };
}
