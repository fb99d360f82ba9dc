import { WebSocket } from 'ws';
import { z } from 'zod';
import type { Health } from '../../contract/model.ts';
import { PROXY_SETTINGS, UPGRADE_REQUIRED } from '../../listen/protocol.ts';
import type { Patient } from './examination.ts';

const ANSWER_MS = 3000;
const HealthAnswer = z.object({
  status: z.enum(['ok', 'degraded', 'failing']),
  parts: z.array(z.string()),
}) satisfies z.ZodType<Health>;

/** Returns the address at which this machine reaches a server on this host and port. */
export function addressUrl(host: string, port: number): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** Returns the response of `/healthz`; null if no Earshot answers. */
export async function healthOf(url: string, patient: Pick<Patient, 'fetch'>): Promise<Health | null> {
  try {
    const response = await patient.fetch(new URL(`${url.replace(/\/$/, '')}/healthz`), {
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return HealthAnswer.parse(await response.json());
  } catch {
    return null;
  }
}

/** Tells whether an Earshot answers there and is ready. */
export async function isServing(url: string, patient: Pick<Patient, 'fetch'>): Promise<boolean> {
  const health = await healthOf(url, patient);
  return health !== null && health.status !== 'failing';
}

/** Returns the status of a WebSocket handshake without a credential: 401 when it reaches the server. */
function handshakeStatus(url: string): Promise<number | null> {
  const target = `${url.replace(/^http/, 'ws').replace(/\/$/, '')}/v4/listen`;
  const socket = new WebSocket(target, { handshakeTimeout: ANSWER_MS });
  return new Promise(resolve => {
    socket.on('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? null);
      socket.terminate();
    });
    socket.on('open', () => {
      resolve(101);
      socket.terminate();
    });
    socket.on('error', () => resolve(null));
  });
}

/** Describes how a reverse proxy breaks WebSockets at this address; null if they work. */
export async function proxyProblem(url: string): Promise<{ detail: string; cure: string } | null> {
  if ((await handshakeStatus(url)) !== UPGRADE_REQUIRED) return null;
  return {
    detail: `the proxy in front of ${url} does not pass on the headers Upgrade and Connection, so no device can connect`,
    cure: `in the location of its configuration, nginx needs: ${PROXY_SETTINGS}`,
  };
}
