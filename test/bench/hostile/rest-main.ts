/** A REST client that requests a page of conversations at a fixed rate, whether or not answers arrive. */
import { Agent, get } from 'node:http';

export interface RestPlan {
  url: string;
  key: string;
  everyMs: number;
}

export type RestTold =
  | { event: 'asked' }
  | {
      event: 'answered';
      /** Time from a request's due time to the end of its answer in ms, of requests due since `begin`. */
      latencies: number[];
      /** Requests without a response of status 200. */
      failures: number;
    };

const PATH = '/v1/dev/user/conversations?limit=25';
/** Time for the last answers to arrive. */
const TAIL_MS = 5000;

process.once('message', (plan: RestPlan) => {
  const agent = new Agent({ keepAlive: true });
  let latencies: number[] = [];
  let failures = 0;
  let open = 0;
  const ask = (): void => {
    const dueAt = performance.now();
    const counted = latencies;
    open += 1;
    const done = (status: number) => {
      open -= 1;
      if (status === 200) counted.push(performance.now() - dueAt);
      else failures += 1;
    };
    const headers = { Authorization: `Bearer ${plan.key}` };
    get(new URL(PATH, plan.url), { agent, headers }, response => {
      response.resume();
      response.once('close', () => done(response.complete ? (response.statusCode ?? 0) : 0));
    }).once('error', () => done(0));
  };
  const timer = setInterval(ask, plan.everyMs);
  process.on('message', (word: 'begin' | 'end') => {
    if (word === 'begin') {
      latencies = [];
      failures = 0;
      return;
    }
    clearInterval(timer);
    setTimeout(
      () => {
        const told: RestTold = { event: 'answered', latencies, failures: failures + open };
        process.send?.(told, () => process.exit(0));
      },
      open === 0 ? 0 : TAIL_MS,
    );
  });
  process.send?.({ event: 'asked' } satisfies RestTold);
});
