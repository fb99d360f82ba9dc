import type { ExecutionContext } from 'ava';
import { z } from 'zod';
import type { Clock } from '../../../core/contract/model.ts';
import type { NotificationMessage, Plugin, PluginState } from '../../../core/contract/plugin.ts';
import { createOutbound, type Outbound } from '../../../core/delivery/outbound.ts';
import { contextOf } from '../stt/context.ts';

/** Allowed hosts: this machine, as if the operator had allowed it. */
const ALLOWED = ['127.0.0.1', 'localhost'];

interface Setup {
  clock?: Clock;
  state?: PluginState;
  allowHosts?: readonly string[];
  outbound?: Outbound;
}

/**
 * Sets a channel up as core does: options parsed, resources released when setup throws, users' addresses
 * behind the real guard.
 */
export async function startChannel<Options>(
  t: ExecutionContext,
  plugin: Plugin<Options>,
  options: unknown = {},
  { clock, state = memoryState(), allowHosts = ALLOWED, outbound: given }: Setup = {},
) {
  const { context, failed, logged, stop } = contextOf(clock);
  const stopper = new AbortController();
  const stopAll = async () => {
    stopper.abort();
    await stop();
  };
  const outbound = given ?? createOutbound({ allowHosts, clock: context.clock });
  t.teardown(() => outbound.close());
  t.teardown(stopAll);
  const schema = plugin.options?.(z) ?? z.strictObject({});
  const { notify } = await plugin.setup({
    ...context,
    signal: stopper.signal,
    state,
    fetchUser: outbound.fetchUser,
    dataDir: '',
    options: schema.parse(options) as Options,
  });
  if (notify === undefined) throw new Error(`${plugin.name} is no channel`);
  const channel = notify;
  return {
    channel,
    logged,
    failed,
    stop: stopAll,
    /** Sends to an address as entered by a user. */
    send: async (address: unknown, other: Partial<NotificationMessage> = {}, signal = never) =>
      channel.send(channel.address(z).parse(address), { ...MESSAGE, ...other }, signal),
  };
}

export const never = new AbortController().signal;

export const MESSAGE: NotificationMessage = {
  id: '01930d2c-7a10-7000-8000-00000000abcd',
  title: 'Call the dentist',
  text: 'It is due today.',
  at: Date.UTC(2026, 10, 2, 12),
  app: 'Earshot',
  event: 'action_item_reminder',
  rule: 'because it is due',
  urgency: 'normal',
  muteUrl: 'https://earshot.example/mute/abc',
  data: { id: '01930d2c-7a10-7000-8000-00000000dcba' },
};

/** Simulates a database; shared if several nodes share one. */
export function memoryState(): PluginState {
  const rows = new Map<string, { value: unknown; version: number }>();
  return {
    get: async key => rows.get(key) ?? null,
    async compareAndSet(key, version, value) {
      if ((rows.get(key)?.version ?? 0) !== version) return false;
      rows.set(key, { value: JSON.parse(JSON.stringify(value)), version: version + 1 });
      return true;
    },
    list: async (prefix = '') => [...rows.keys()].filter(key => key.startsWith(prefix)),
    delete: async key => void rows.delete(key),
  };
}
