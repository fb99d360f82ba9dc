import { AppError, toAppError } from '../runtime/errors.ts';

/** Explains why the server cannot listen on this port, and what to do. */
export function cannotListen(thrown: unknown, host: string, port: number): AppError {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  const reason =
    REASONS[code]?.(host, port) ?? `Cannot listen on ${host}:${port}: ${toAppError(thrown).message}`;
  return new AppError('config_error', reason, { cause: thrown });
}

const notOurs = (host: string) =>
  `${host} is no address of this machine. Set EARSHOT_HOST=127.0.0.1 for this machine alone, 0.0.0.0 for the network.`;

const REASONS: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `Port ${port} of ${host} is in use, perhaps by another Earshot. Stop that, or choose another port: EARSHOT_PORT=${nextTo(port)}`,
  EACCES: (_, port) =>
    `Port ${port} may not be used by this account. Choose one above 1023: EARSHOT_PORT=8420`,
  EADDRNOTAVAIL: notOurs,
  ENOTFOUND: notOurs,
  EAI_AGAIN: notOurs,
};

function nextTo(port: number): number {
  return port < 65535 ? port + 1 : port - 1;
}
