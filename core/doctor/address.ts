import type { Patient } from './examination.ts';

const ANSWER_MS = 3000;

/** Where a server that listens on this host and port is reached from this machine. */
export function addressUrl(host: string, port: number): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** Does Earshot answer there, and say that it is well? */
export async function isHealthy(url: string, patient: Pick<Patient, 'fetch'>): Promise<boolean> {
  try {
    const response = await patient.fetch(new URL('/healthz', url), {
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const body: unknown = await response.json();
    return response.status === 200 && Object(body).status === 'ok';
  } catch {
    return false;
  }
}
