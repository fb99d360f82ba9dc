import { once } from 'node:events';
import test from 'ava';
import { openRaw } from '../../helpers/raw-socket.ts';
import { openRest } from '../../helpers/rest.ts';

const MiB = 1024 * 1024;
/** Many times the size of both kernels' buffers. */
const SENT_BYTES = 64 * MiB;
const JSON_TYPE = 'Content-Type: application/json';
const LENGTH = `Content-Length: ${SENT_BYTES}`;
const CHUNKED = 'Transfer-Encoding: chunked';

/** Requests whose body the server does not read to its end. */
const UNWANTED: [title: string, line: string, status: number, headers: (token: string) => string[]][] = [
  ['a sign-in', 'POST /v1/auth/token', 413, () => [JSON_TYPE, LENGTH]],
  ['a sign-in without a length', 'POST /v1/auth/token', 413, () => [JSON_TYPE, CHUNKED]],
  ['a stranger', 'POST /v1/dev/user/memories', 401, () => [JSON_TYPE, LENGTH]],
  ['a body for an unknown route', 'POST /nowhere', 404, () => [CHUNKED]],
  ['JSON', 'POST /v1/dev/user/memories', 413, token => [JSON_TYPE, CHUNKED, bearer(token)]],
  ['a tool call', 'POST /mcp', 413, token => [JSON_TYPE, CHUNKED, bearer(token)]],
  ['a recording', 'POST /v2/voice-messages', 413, token => [FORM, LENGTH, bearer(token)]],
  ['a form without a boundary', 'POST /v2/voice-messages', 400, token => [FORM, CHUNKED, bearer(token)]],
  ['a request that is not HTTP', 'hello', 400, () => []],
];
const FORM = 'Content-Type: multipart/form-data';

function bearer(token: string): string {
  return `Authorization: Bearer ${token}`;
}

/**
 * Keeps sending; resolves to the response and the number of accepted bytes, once the connection is closed.
 */
async function sendOn(url: string, head: string, isChunked: boolean) {
  const { socket, received } = await openRaw(url, head);
  const closed = new Promise(resolve => socket.once('close', resolve));
  const piece = Buffer.alloc(MiB, 'x');
  let taken = 0;
  for (let sent = 0; sent < SENT_BYTES; sent += piece.length) {
    if (isChunked) socket.write(`${piece.length.toString(16)}\r\n`);
    socket.write(piece, error => {
      taken += error ? 0 : piece.length;
    });
    if (isChunked) socket.write('\r\n');
  }
  await closed;
  return { text: received(), taken };
}

for (const [title, line, status, headersOf] of UNWANTED)
  test(`${title}: the rest of a rejected body is not read, and its client gets the response`, async t => {
    const { url, token } = await openRest(t);
    const headers = headersOf(token);
    const isHttp = line.includes(' ');
    const head = isHttp
      ? [`${line} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n')
      : `${line}\r\n\r\n`;
    const { text, taken } = await sendOn(url, head, headers.includes(CHUNKED));
    t.regex(text, new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*Connection: close[\\s\\S]*\\}$`));
    t.true(taken < SENT_BYTES / 2, `${taken} bytes were taken`);
  });

test('A small unread body is discarded, and its connection serves the next request', async t => {
  const { url } = await openRest(t);
  const body = 'x'.repeat(20_000);
  const refused = `POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`;
  const { socket, received } = await openRaw(url, refused);
  await once(socket, 'data'); // refused before the body is sent
  socket.write(`${body}GET /.well-known/jwks.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await once(socket, 'end');
  t.regex(received(), /^HTTP\/1\.1 404 [\s\S]*HTTP\/1\.1 200 /);
  socket.destroy();
});
