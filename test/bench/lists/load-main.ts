/** Asks the same thing over a few kept connections, each time the answer has come, and counts. */
import { connect } from 'node:net';

export interface Counted {
  event: 'counted';
  perSecond: number;
  /** Answers in all, also before it counted. */
  all: number;
}

export interface RequestPlan {
  port: number;
  path: string;
  key: string;
  warmMs: number;
  measureMs: number;
}

const CONNECTIONS = 4;

process.once('message', async (plan: RequestPlan) => {
  const answered = { count: 0 };
  for (let i = 0; i < CONNECTIONS; i++) ask(plan, answered);
  await new Promise(resolve => setTimeout(resolve, plan.warmMs));
  const before = answered.count;
  const startedAt = performance.now();
  await new Promise(resolve => setTimeout(resolve, plan.measureMs));
  const seconds = (performance.now() - startedAt) / 1000;
  const perSecond = (answered.count - before) / seconds;
  process.send?.({ event: 'counted', perSecond, all: answered.count }, () => process.exit(0));
});

/** A client of as little cost as possible: of an answer it reads the status and the length. */
function ask({ port, path, key }: RequestPlan, answered: { count: number }): void {
  const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const socket = connect(port, '127.0.0.1', () => socket.write(request));
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
    answered.count += 1;
    socket.write(request);
  });
}

function lengthOf(head: string): number {
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (!head.startsWith('HTTP/1.1 200') || length === undefined) throw new Error(`not an answer: ${head}`);
  return Number(length);
}
