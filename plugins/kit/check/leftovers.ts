import { createHook } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** Resources that keep a process alive, or outlive it, by Node's names. */
const KINDS: Readonly<Record<string, string>> = {
  Timeout: 'a timer',
  TCPWRAP: 'a TCP connection',
  TCPSERVERWRAP: 'a listening TCP socket',
  PIPEWRAP: 'a pipe or Unix socket',
  PIPESERVERWRAP: 'a listening Unix socket',
  UDPWRAP: 'a UDP socket',
  TLSWRAP: 'a TLS connection',
  PROCESSWRAP: 'a child process',
  WORKER: 'a worker thread',
  FSEVENTWRAP: 'a watched file',
  STATWATCHER: 'a watched file',
  SIGNALWRAP: 'a signal handler',
};
/** Resources that count even if they were told not to keep the process alive. */
const NEVER_IDLE = ['PROCESSWRAP', 'WORKER', 'TCPSERVERWRAP', 'PIPESERVERWRAP', 'UDPWRAP'];

interface Handle {
  type: string;
  resource: WeakRef<{ hasRef?(): boolean }>;
  /** Origin: the nearest stack line outside of Node, core and the kit. */
  place: string;
}

export interface Leftovers {
  /** Ignores what is open now, because it does not belong to the plugin. */
  begin(): void;
  /** Describes resources opened since then that are still open, after the system had time to close them. */
  find(): Promise<string[]>;
}

const PATIENCE_MS = 2000;
const LOOK_EVERY_MS = 25;

/** Tracks everything that this process opens from now on. */
export function watchLeftovers(): Leftovers {
  const open = new Map<number, Handle>();
  let isOwn = false;
  createHook({
    init(id, type, _trigger, resource) {
      if (!isOwn && Object.hasOwn(KINDS, type))
        open.set(id, { type, resource: new WeakRef(resource), place: placeOf(new Error().stack) });
    },
    destroy: id => open.delete(id),
  }).enable();
  Error.stackTraceLimit = 50; // the plugin's own line may be far below those of a library

  function pause(): Promise<void> {
    isOwn = true;
    const slept = sleep(LOOK_EVERY_MS);
    isOwn = false;
    return slept;
  }

  return {
    begin: () => open.clear(),
    async find() {
      const until = performance.now() + PATIENCE_MS;
      for (;;) {
        await pause();
        const held = [...open.values()].filter(isHeld);
        if (held.length > 0 && performance.now() < until) continue;
        return [...new Set(held.map(({ type, place }) => `${KINDS[type]}${place}`))];
      }
    },
  };
}

function isHeld({ type, resource }: Handle): boolean {
  const handle = resource.deref();
  return handle !== undefined && (NEVER_IDLE.includes(type) || handle.hasRef?.() === true);
}

const OWN = ['../../../core/', '../../../plugins/kit/'].map(path => new URL(path, import.meta.url).href);

function placeOf(stack = ''): string {
  const lines = stack.split('\n').slice(1);
  const line = lines.find(each => /file:|[(\s]\//.test(each) && !OWN.some(path => each.includes(path)));
  const [, place] = /^[^/]*(\/.*:\d+):\d+\)?$/.exec(line?.replace('file://', '') ?? '') ?? [];
  return place === undefined ? '' : ` (opened at ${place})`;
}
