import { createConnection } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Logger } from 'pino';
import { z } from 'zod';
import { createBackoff } from '../backoff.ts';
import type { Clock } from '../clock.ts';
import { unixAddress } from '../unix-address.ts';

/** The core on the same data directory. It may not be running. */
export interface LocalCore {
  dataDir: string;
  clock: Clock;
  log: Logger;
  /** Time limit of one attempt. */
  timeLimitMs?: number;
}

/** A command for core's control socket. */
interface Question<Result> {
  command: string;
  args: object;
  result: z.ZodType<Result>;
  /** Description of what is missing, and advice. Both are logged with the reason, once per reason. */
  missing: string;
  wayOut: string;
}

const Refusal = z.object({ ok: z.literal(false), error: z.object({ message: z.string() }) });
const MAX_WAIT_MS = 30_000;

/** Repeats a command until core answers. Rejects only when aborted. */
export async function askLocalCore<Result>(
  { dataDir, clock, log, timeLimitMs = 10_000 }: LocalCore,
  { missing, wayOut, ...question }: Question<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const backoff = createBackoff({ firstMs: 500, maxMs: MAX_WAIT_MS });
  let told = '';
  for (;;) {
    try {
      return await askOnce(join(dataDir, 'control.sock'), question, timeLimitMs);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log[told === reason ? 'debug' : 'warn'](`no ${missing} yet: ${reason}; ${wayOut}`);
      told = reason;
    }
    await clock.sleep(backoff.next(), signal);
  }
}

/** Sends a command once. Rejects with the reason why there is no answer. */
export function askLocalCoreOnce<Result>(
  dataDir: string,
  question: Pick<Question<Result>, 'command' | 'args' | 'result'>,
): Promise<Result> {
  return askOnce(join(dataDir, 'control.sock'), question, 10_000);
}

/** Sends a JSON object as a line, and parses the line that comes back. */
async function askOnce<Result>(
  socket: string,
  { command, args, result }: Pick<Question<Result>, 'command' | 'args' | 'result'>,
  timeLimitMs: number,
): Promise<Result> {
  const connection = createConnection(unixAddress(socket));
  const deadline = setTimeout(() => connection.destroy(new Error('core did not answer')), timeLimitMs);
  try {
    const answer: unknown = JSON.parse(await firstLine(connection, { command, args }));
    const refusal = Refusal.safeParse(answer);
    if (refusal.success) throw new Error(`core refuses: ${refusal.data.error.message}`);
    const answered = z.object({ ok: z.literal(true), result }).safeParse(answer);
    if (answered.success) return answered.data.result;
    throw new Error('core is still starting, or is another version');
  } finally {
    clearTimeout(deadline);
    connection.destroy();
  }
}

function firstLine(connection: ReturnType<typeof createConnection>, question: unknown): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  connection.once('connect', () => connection.write(`${JSON.stringify(question)}\n`));
  connection.once('error', error => reject(new Error(`core does not run here (${error.message})`)));
  connection.once('close', () => reject(new Error('core closed the connection')));
  createInterface({ input: connection }).once('line', resolve).on('error', reject);
  return promise;
}
