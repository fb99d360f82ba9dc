/** The connection to the broker. When it is lost, the plugin fails and core sets it up again. */
import type { PluginContext } from '../../../core/contract/plugin.ts';
import { orAborted } from '../../kit/kit.ts';

interface Server {
  url: string;
  username?: string | undefined;
  password?: string | undefined;
}

export interface Broker {
  /** Receives messages published on these topics from now on; retained messages are not delivered. */
  subscribe(
    topics: readonly string[],
    received: (topic: string, payload: string) => void,
    signal: AbortSignal,
  ): Promise<void>;
  unsubscribe(topics: readonly string[], signal: AbortSignal): Promise<void>;
  /**
   * Resolves when the broker has acknowledged the message. Rejects with `upstream_error` or `forbidden`, or with the
   * signal's reason.
   */
  publish(topic: string, payload: string, how: { retain: boolean }, signal: AbortSignal): Promise<void>;
}

type Context = Pick<PluginContext<never>, 'error' | 'fail' | 'onStop' | 'signal'>;

/** Must fit into the 10 seconds of `setup`. */
const CONNECT_MS = 8000;
/** Largest message accepted from the broker. */
const MAX_PAYLOAD_BYTES = 16_384;
const KEPT = { qos: 1, retain: true } as const;
const PACKAGE = 'mqtt@5.16.0';
/** Return codes of MQTT 3.1.1 (CONNACK) and MQTT 5 for wrong credentials and missing authorisation. */
const REFUSED = [4, 5, 134, 135];

/** @param statusTopic holds a retained `online` while this connection lasts and `offline` after it, however it ends */
export async function connect(
  { url, username, password }: Server,
  statusTopic: string,
  context: Context,
): Promise<Broker> {
  const { error, fail, onStop, signal: stopping } = context;
  const { connectAsync } = await import('mqtt').catch(cause => {
    const message = `mqtt: its package is not installed; install it with: npm install ${PACKAGE}`;
    throw error('config_error', message, { cause });
  });
  const settings = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    connectTimeout: CONNECT_MS,
    // Otherwise the client would send unsent messages again by itself, in addition to core's retry.
    reconnectPeriod: 0,
    clean: true,
    will: { topic: statusTopic, payload: Buffer.from('offline'), qos: 1 as const, retain: true },
  };
  const client = await connectAsync(url, settings, false).catch(cause => {
    if (REFUSED.includes(cause?.code))
      throw error(
        'config_error',
        `mqtt: ${url} refuses the account; correct plugins.mqtt.username or plugins.mqtt.password`,
      );
    const remedy = 'start the broker there, or correct plugins.mqtt.url';
    throw error('upstream_error', `mqtt: ${url} cannot be reached; ${remedy}`, { cause });
  });
  const lost = new AbortController();
  onStop(() => client.endAsync(true)); // without DISCONNECT, so that the broker publishes the will
  client.on('error', () => undefined); // `close` follows
  client.on('close', () => {
    const reason = error('upstream_error', `mqtt: ${url} is away`);
    lost.abort(reason);
    if (!stopping.aborted) fail(reason);
  });

  const receivers = new Map<string, (topic: string, payload: string) => void>();
  const sayOnline = () => client.publishAsync(statusTopic, 'online', KEPT);
  client.on('message', (topic, payload, { retain }) => {
    if (retain || payload.length > MAX_PAYLOAD_BYTES) return;
    // An `offline` of an earlier connection, or of another node, may arrive after this connection's `online`.
    if (topic === statusTopic && payload.toString() === 'offline' && !stopping.aborted)
      sayOnline().catch(() => undefined);
    else receivers.get(topic)?.(topic, payload.toString());
  });
  await client.subscribeAsync(statusTopic, { qos: 1 });
  await sayOnline();

  /** Settles as `work` does, or rejects when the connection is lost or the signal aborts first. */
  async function untilLost(what: string, signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
    const ending = AbortSignal.any([signal, lost.signal]);
    ending.throwIfAborted();
    const done = work().catch(cause => {
      throw error('upstream_error', `mqtt: ${url} did not take ${what}`, { cause });
    });
    await orAborted(done, ending);
  }

  return {
    async subscribe(topics, received, signal) {
      for (const topic of topics) receivers.set(topic, received);
      await untilLost('a subscription', signal, () => client.subscribeAsync([...topics], { qos: 1 }));
    },
    async unsubscribe(topics, signal) {
      for (const topic of topics) receivers.delete(topic);
      await untilLost('a subscription', signal, () => client.unsubscribeAsync([...topics]));
    },
    async publish(topic, payload, { retain }, signal) {
      await untilLost('a message', signal, () => client.publishAsync(topic, payload, { qos: 1, retain }));
    },
  };
}
