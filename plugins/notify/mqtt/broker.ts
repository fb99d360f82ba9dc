/** The connection to the broker. One that is lost is the end of the plugin: core sets it up again. */
import type { PluginContext } from '../../../core/contract/plugin.ts';
import { orAborted } from '../../kit/kit.ts';

interface Server {
  url: string;
  username?: string | undefined;
  password?: string | undefined;
}

export interface Broker {
  /** Resolves when the broker has it. Rejects with `upstream_error` or `forbidden`, or with the signal's reason. */
  publish(topic: string, payload: string, how: { retain: boolean }, signal: AbortSignal): Promise<void>;
}

type Context = Pick<PluginContext<never>, 'error' | 'fail' | 'onStop' | 'signal'>;

/** All of `setup` has 10 seconds. */
const CONNECT_MS = 8000;
const PACKAGE = 'mqtt@5.16.0';
/** Return codes of MQTT 3.1.1 (CONNACK) and MQTT 5: a bad name or password, not authorised. */
const REFUSED = [4, 5, 134, 135];

export async function connect({ url, username, password }: Server, context: Context): Promise<Broker> {
  const { error, fail, onStop, signal: stopping } = context;
  const { connectAsync } = await import('mqtt').catch(cause => {
    const message = `mqtt: its package is not installed; install it with: npm install ${PACKAGE}`;
    throw error('config_error', message, { cause });
  });
  const settings = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    connectTimeout: CONNECT_MS,
    // It would send again, beside the next try of core's, what it could not send before.
    reconnectPeriod: 0,
    clean: true,
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
  onStop(() => client.endAsync(true));
  client.on('error', () => undefined); // `close` follows
  client.on('close', () => {
    const reason = error('upstream_error', `mqtt: ${url} is away`);
    lost.abort(reason);
    if (!stopping.aborted) fail(reason);
  });

  return {
    async publish(topic, payload, { retain }, signal) {
      const ending = AbortSignal.any([signal, lost.signal]);
      ending.throwIfAborted();
      const sent = client.publishAsync(topic, payload, { qos: 1, retain }).catch(cause => {
        throw error('upstream_error', `mqtt: ${url} did not take a message`, { cause });
      });
      await orAborted(sent, ending);
    },
  };
}
