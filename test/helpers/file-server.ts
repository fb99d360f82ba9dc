import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

/** A real file server that records its requests. */
export async function serveFiles(
  t: ExecutionContext,
  files: Record<string, Buffer>,
  answer: Answer = answerWithRanges,
) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.range ?? 'all'}`);
    const body = files[request.url ?? ''];
    if (body === undefined) response.writeHead(404).end();
    else answer(request, response, body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

export function answerWithRanges(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  response.end(body.subarray(begin(request, response, body)));
}

/** Sends half of the remaining bytes, then breaks the connection. */
export function breakHalfway(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const start = begin(request, response, body);
  const half = body.subarray(start, start + Math.ceil((body.length - start) / 2));
  response.write(half, () => response.destroy());
}

function begin(request: IncomingMessage, response: ServerResponse, body: Buffer): number {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  if (start > 0)
    response.writeHead(206, { 'content-range': `bytes ${start}-${body.length - 1}/${body.length}` });
  return start;
}
