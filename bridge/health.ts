import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Counts } from './events.ts';
import type { RadioState } from './radio.ts';

/** Subject of the report. */
export interface HealthSource {
  counts(): Counts;
  radio(): RadioState;
}

export interface Health {
  readonly port: number;
  close(): Promise<void>;
}

/** Audio that core has not confirmed for so long is a fault. */
const LATE_MS = 10 * 60_000;
const MAX_CONNECTIONS = 32;
const REQUEST_MS = 5000;

/**
 * Answers `GET /health` (JSON; 503 with the reasons while something is wrong) and `GET /metrics` (Prometheus).
 * @throws what listening throws: the port is in use, or may not be used
 */
export async function serveHealth(
  { host, port }: { host: string; port: number },
  source: HealthSource,
): Promise<Health> {
  const registry = createMetrics(source);
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.requestTimeout = REQUEST_MS;
  server.headersTimeout = REQUEST_MS;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isMeant(request, host)) return reply(response, 421, 'text/plain', 'unknown host name\n');
    if (request.method !== 'GET') return reply(response, 405, 'text/plain', 'GET only\n');
    if (request.url === '/metrics')
      return reply(response, 200, registry.contentType, await registry.metrics());
    if (request.url !== '/health') return reply(response, 404, 'text/plain', '/health and /metrics\n');
    const report = reportOf(source);
    const status = report.problems.length === 0 ? 200 : 503;
    reply(response, status, 'application/json', `${JSON.stringify(report)}\n`);
  }

  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound ? bound.port : port,
    async close() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

function reply(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/;

/** A page in a browser may reach this port under a name of its own: only names of this machine are answered. */
function isMeant({ headers }: IncomingMessage, host: string): boolean {
  if (!LOOPBACK.test(host)) return true;
  const name = (headers.host ?? '').replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return LOOPBACK.test(name);
}

function reportOf({ counts, radio }: HealthSource) {
  const { spool, core, devices } = counts();
  const { name, hint } = radio();
  const isLate = spool.oldestMs !== null && spool.oldestMs > LATE_MS;
  const problems = [
    ...(name === 'ready' ? [] : [`radio: ${hint || name}`]),
    ...(isLate ? [`core has not confirmed audio for ${Math.round((spool.oldestMs ?? 0) / 60_000)} min`] : []),
  ];
  return { problems, radio: { state: name, hint }, spool, core, devices };
}

function createMetrics({ counts, radio }: HealthSource): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'earshot_bridge_' });
  type Values = (now: Counts) => [value: number, labels?: Record<string, string>][];

  /** `total`: it only grows while the bridge runs. */
  function add(kind: 'gauge' | 'total', name: string, help: string, labels: string[], values: Values): void {
    const settings = { name: `earshot_bridge_${name}`, help, labelNames: labels, registers: [registry] };
    if (kind === 'gauge') {
      new Gauge({
        ...settings,
        collect() {
          this.reset();
          for (const [value, at = {}] of values(counts())) this.set(at, value);
        },
      });
    } else {
      new Counter({
        ...settings,
        collect() {
          this.reset();
          for (const [value, at = {}] of values(counts())) this.inc(at, value);
        },
      });
    }
  }
  const perDevice =
    (pick: (device: Counts['devices'][number]) => number): Values =>
    ({ devices }) =>
      devices.map(device => [pick(device), { device: device.name }]);

  add('gauge', 'radio_ready', '1 while wearables can be reached', [], () => [
    [Number(radio().name === 'ready')],
  ]);
  add('total', 'radio_malformed_total', 'Malformed packets', ['kind'], now =>
    Object.entries(now.radio.malformed).map(([kind, count = 0]) => [count, { kind }]),
  );
  add('total', 'radio_restarts_total', 'Restarts of the Bluetooth library', [], now => [
    [now.radio.restarts],
  ]);
  add('gauge', 'spool_bytes', 'Audio on disk that core has not confirmed', [], now => [[now.spool.bytes]]);
  add(
    'gauge',
    'spool_oldest_seconds',
    'Age of the oldest audio on disk that core has not confirmed; 0: there is none',
    [],
    now => [[(now.spool.oldestMs ?? 0) / 1000]],
  );
  add('total', 'spool_dropped_seconds_total', 'Audio deleted because the disk space was used up', [], now => [
    [now.spool.droppedMs / 1000],
  ]);
  add('total', 'core_connections_total', 'Connections to core', [], now => [[now.core.connections]]);
  add('total', 'core_failures_total', 'Connections to core that failed', [], now => [[now.core.failures]]);
  add(
    'gauge',
    'device_streaming',
    '1 while it is connected and streams',
    ['device'],
    perDevice(device => Number(device.streaming)),
  );
  add(
    'total',
    'device_connections_total',
    'Connections of a wearable',
    ['device'],
    perDevice(device => device.connections),
  );
  add(
    'total',
    'device_frames_total',
    'Frames received',
    ['device'],
    perDevice(device => device.frames),
  );
  add(
    'total',
    'device_lost_frames_total',
    'Frames lost within connections',
    ['device'],
    perDevice(device => device.lost),
  );
  return registry;
}
