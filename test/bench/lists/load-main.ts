/** Repeats a request over a few persistent connections, each time the answer has arrived, and counts. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../benchmark.ts';
import type { Request } from './resources.ts';

export interface Counted {
  event: 'counted';
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** All answers, also those before counting. */
  all: number;
}

export interface RequestPlan {
  port: number;
  request: Request;
  key: string;
  warmMs: number;
  measureMs: number;
}

const CONNECTIONS = 4;
/** Continues until there are this many, as processor time is reported in steps of 10 ms. */
const LEAST_ANSWERS = 50;

process.once('message', async (plan: RequestPlan) => {
  const answered: number[] = [];
  for (let i = 0; i < CONNECTIONS; i++) ask(plan, answered);
  await sleep(plan.warmMs);
  const before = answered.length;
  const startedAt = performance.now();
  do await sleep(plan.measureMs);
  while (answered.length - before < LEAST_ANSWERS);
  const seconds = (performance.now() - startedAt) / 1000;
  const took = answered.slice(before);
  const perSecond = took.length / seconds;
  const [p50Ms, p99Ms] = [percentile(took, 50), percentile(took, 99)];
  const counted = { event: 'counted', perSecond, p50Ms, p99Ms, all: answered.length };
  process.send?.(counted, () => process.exit(0));
});

/**
 * A client with minimal cost: it reads only status and length of an answer.
 * @param answered gets the milliseconds of each answer
 */
function ask({ port, request, key }: RequestPlan, answered: number[]): void {
  const bytes = bytesOf(request, key);
  let sentAt = 0;
  const send = () => {
    sentAt = performance.now();
    socket.write(bytes);
  };
  const socket = connect(port, '127.0.0.1', send);
  socket.setNoDelay(true);
  let missing: number | null = null;
  let head = '';
  socket.on('data', data => {
    let rest = data.length;
    if (missing === null) {
      head += data.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      rest = head.length - end - 4;
      missing = lengthOf(head.slice(0, end));
      head = '';
    }
    missing -= rest;
    if (missing > 0) return;
    missing = null;
    answered.push(performance.now() - sentAt);
    send();
  });
}

function bytesOf({ path, body }: Request, key: string): string {
  const head = `${body ? 'POST' : 'GET'} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n`;
  if (!body) return `${head}\r\n`;
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function lengthOf(head: string): number {
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (!head.startsWith('HTTP/1.1 200') || length === undefined) throw new Error(`not an answer: ${head}`);
  return Number(length);
}
