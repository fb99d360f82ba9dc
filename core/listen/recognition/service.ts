/** The services of `earshot recogniser`: addresses and access. */
import { once } from 'node:events';
import { type AddressInfo, BlockList, isIP, type Server } from 'node:net';
import type { Clock } from '../../contract/model.ts';
import type { PluginHost } from '../../plugin-host/plugin-host.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { NamedProvider } from '../recogniser/providers.ts';
import { createCustomService } from './custom-service.ts';
import { createRecognition } from './recognition.ts';
import type { Limits } from './sessions.ts';
import { createWyomingService } from './wyoming-service.ts';

export interface Served {
  host: string;
  /** 0: any free one. */
  port: number;
  /** Shown by clients of the WebSocket; null: none is needed, on loopback alone. */
  token: string | null;
  /** Null: Wyoming is not served. */
  wyoming: { host: string; port: number } | null;
  limits: Limits;
}

interface Options extends Served {
  plugins: Pick<PluginHost, 'list' | 'get'>;
  /** Recognisers in order of preference. */
  names: readonly string[];
  clock: Clock;
  log: Log;
}

interface Service {
  server: Server;
  stop(): Promise<void>;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * Listens. Rejects with `config_error`, or with why no recogniser works.
 * @returns for people, what is served where
 */
export async function serveRecognition(options: Options) {
  const { plugins, names, host, port, token, wyoming, limits, clock, log } = options;
  checkToken(host, token);
  const recognition = createRecognition({
    recognisers: () => plugins.list('stt', names).map(({ name, value }) => ({ name, stt: value })),
    vad: () => plugins.get('vad'),
    clock,
    log,
  });
  if (recognition.recognisers().length === 0) plugins.get('stt'); // it says why
  const services: Service[] = [];
  const stop = async () => {
    const ended = services.map(({ server }) => server.listening && once(server, 'close'));
    for (const { server } of services) server.close();
    await Promise.all(services.map(service => service.stop()));
    await Promise.all(ended);
  };

  async function open(service: Service, at: { host: string; port: number; option: string }) {
    services.push(service);
    return listen(service.server, at);
  }

  try {
    const custom = createCustomService({ recognition, token, limits, clock, log });
    const at = await open(custom, { host, port, option: '--port' });
    const lines = [
      ...recognition.recognisers().map(describe),
      `Listening on ws://${at} for custom-stt, ${token === null ? 'without a token' : 'with a token'}`,
    ];
    if (wyoming !== null) {
      const service = createWyomingService({ recognition, limits, clock, log });
      const place = await open(service, { ...wyoming, option: '--wyoming' });
      const warning = isLoopback(wyoming.host)
        ? ''
        : '; it has no token: whoever reaches the port can use it';
      lines.push(`Listening on tcp://${place} for Wyoming${warning}`);
    }
    return { lines, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function describe({ name, stt }: NamedProvider): string {
  const languages = stt.languages === 'any' ? 'any language' : stt.languages.join(', ');
  return `Recognising speech with ${name}${stt.model === null ? '' : ` (${stt.model})`}: ${languages}`;
}

function checkToken(host: string, token: string | null): void {
  if (token !== null || isLoopback(host)) return;
  throw new AppError(
    'config_error',
    `${host} can be reached by others: give --token-file FILE with a secret of 16 characters or more, or leave --host out`,
  );
}

function isLoopback(host: string): boolean {
  const version = isIP(host);
  return version === 0 ? host === 'localhost' : LOOPBACK.check(host, version === 6 ? 'ipv6' : 'ipv4');
}

/** Resolves to the address in a URL. */
async function listen(
  server: Server,
  { host, port, option }: { host: string; port: number; option: string },
): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening').catch((cause: Error & { code?: string }) => {
    const why = `Cannot listen on port ${port} of ${host} (${cause.code}); choose another: ${option} PORT`;
    throw new AppError('config_error', why, { cause });
  });
  const { address, family, port: given } = server.address() as AddressInfo;
  return `${family === 'IPv6' ? `[${address}]` : address}:${given}`;
}
