import type { Clock } from '../clock.ts';
import type { DeviceLink, Driver, DriverLog, Notification, Property, Ref } from '../driver.ts';
import { forbiddenHere } from '../driver-host/forbidden.ts';
import { declarationOf, declaredWrites } from '../driver-host/writes.ts';
import { LinkLostError, TimeLimitError } from '../guard.ts';
import type { Link } from '../link.ts';
import { createQueue, type Queue } from '../queue.ts';
import { plainUuid } from '../uuid.ts';

/** Maximum notifications that wait for a driver. */
const MAX_WAITING = 4096;
const ANSWER_MS = 5000;

/** The link, with additions for the bridge itself. */
export interface DriverLink extends DeviceLink {
  /** Calls `onData` for each notification. False: it is `optional`, and the device lacks or refuses it. */
  listen(ref: Ref, onData: (bytes: Uint8Array) => void, options?: { optional?: boolean }): Promise<boolean>;
  /**
   * The device did not answer an optional request, or ended the connection: no further optional requests are made.
   */
  readonly isStalled: boolean;
}

/**
 * The link for a driver: each characteristic can be subscribed to once, and only declared writes are sent.
 * @param released resolves when all stored audio is on disk
 */
export function createDeviceLink({
  driver,
  link,
  clock,
  released,
  heard,
  log,
}: {
  driver: Driver;
  link: Link;
  clock: Clock;
  released(): Promise<void>;
  /** Called for each notification. */
  heard(): void;
  log: DriverLog;
}): DriverLink {
  let isStalled = false;
  const declared = declaredWrites(driver);
  const hubs = new Map<string, { listeners: Set<(bytes: Uint8Array) => void>; subscribed: Promise<void> }>();
  const queues = new Set<Queue<Notification>>();
  /** Callers that wait for an answer. */
  const waiting = new Set<(reason: string) => void>();
  void link.closed.then(reason => {
    for (const onLost of waiting) onLost(reason);
    for (const queue of queues) queue.end();
  });
  const has = async (ref: Ref) => (await properties(ref)).size > 0;

  async function properties({ service, characteristic }: Ref): Promise<ReadonlySet<Property>> {
    return new Set((await link.properties(service, characteristic)) as Property[]);
  }

  async function read(ref: Ref, { optional = false } = {}): Promise<Uint8Array | undefined> {
    if (!optional) return link.read(ref.service, ref.characteristic);
    return link.read(ref.service, ref.characteristic, { optional: true }).catch(failed);
  }

  function failed(error: unknown): undefined {
    isStalled ||= error instanceof LinkLostError;
    log.debug({ err: error }, 'the device does not have it, or refuses');
  }

  async function write(
    ref: Ref,
    bytes: Uint8Array,
    { response }: { response?: boolean } = {},
  ): Promise<void> {
    const declaration = declarationOf(declared, ref, bytes);
    const forbidden = await forbiddenHere(ref, has);
    if (forbidden) throw new Error(`it writes to ${ref.characteristic}, which is ${forbidden}`);
    if (declaration.releases?.(bytes)) await released();
    const confirms = response ?? (await properties(ref)).has('write');
    await link.write(ref.service, ref.characteristic, bytes, { response: confirms });
  }

  async function listen(
    ref: Ref,
    onData: (bytes: Uint8Array) => void,
    { optional = false } = {},
  ): Promise<boolean> {
    const key = `${plainUuid(ref.service)} ${plainUuid(ref.characteristic)}`;
    const hub = hubs.get(key) ?? open(key, ref, optional);
    hub.listeners.add(onData);
    try {
      await hub.subscribed;
      return true;
    } catch (error) {
      hub.listeners.delete(onData);
      hubs.delete(key);
      if (!optional) throw error;
      failed(error);
      return false;
    }
  }

  function open(key: string, ref: Ref, optional: boolean) {
    const listeners = new Set<(bytes: Uint8Array) => void>();
    const tell = (bytes: Buffer) => {
      heard();
      for (const listener of [...listeners]) listener(bytes);
    };
    const subscribed = link.subscribe(ref.service, ref.characteristic, tell, { optional });
    const hub = { listeners, subscribed };
    hubs.set(key, hub);
    return hub;
  }

  async function notifications(
    ref: Ref,
    options: { optional?: boolean } = {},
  ): Promise<AsyncIterable<Notification> | undefined> {
    const queue = createQueue<Notification>(MAX_WAITING);
    const onData = (bytes: Uint8Array) => queue.push({ bytes: new Uint8Array(bytes), atMs: clock.now() });
    if (!(await listen(ref, onData, options))) return undefined;
    queues.add(queue);
    return queue;
  }

  async function ask(
    ref: Ref,
    bytes: Uint8Array,
    { on, accepts, limitMs = ANSWER_MS, response }: Parameters<DeviceLink['ask']>[2],
  ): Promise<Uint8Array> {
    const answer = Promise.withResolvers<Uint8Array>();
    const onData = (data: Uint8Array) => {
      if (accepts(data)) answer.resolve(new Uint8Array(data));
    };
    await listen(on, onData);
    const ending = new AbortController();
    const late = clock.sleep(limitMs, ending.signal).then(
      () =>
        answer.reject(
          new TimeLimitError(`the device did not answer on ${on.characteristic} within ${limitMs} ms`),
        ),
      () => {},
    );
    const onLost = (reason: string) => answer.reject(new LinkLostError(reason));
    waiting.add(onLost);
    answer.promise.catch(() => {});
    try {
      await write(ref, bytes, response === undefined ? {} : { response });
      return await answer.promise;
    } finally {
      ending.abort();
      waiting.delete(onLost);
      hubs.get(`${plainUuid(on.service)} ${plainUuid(on.characteristic)}`)?.listeners.delete(onData);
      await late;
    }
  }

  return {
    get mtu() {
      return link.mtu;
    },
    properties,
    read: read as DeviceLink['read'], // its overloads say when it may be undefined
    write,
    notifications: notifications as DeviceLink['notifications'],
    ask,
    listen,
    get isStalled() {
      return isStalled;
    },
  };
}
