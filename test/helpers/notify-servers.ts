import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { startLocalServer } from './local-server.ts';

export interface Asked {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  /** Parsed, if it is JSON. */
  body: Record<string, unknown>;
}

/** HTTP servers that speak other products' protocols on real sockets, by their documentation and sources. */
export interface NotifyServer {
  url: string;
  asked: Asked[];
  /** Visible text of each accepted message. */
  words: string[];
  /** Replaces the next answer, once. */
  next: ((response: ServerResponse) => void) | null;
  close(): Promise<void>;
}

type Answer = (asked: Asked, raw: string, response: ServerResponse) => string | null;

/** @param answer ends the response and returns the text that a person sees; null for none */
export async function startNotifyServer(answer: Answer): Promise<NotifyServer> {
  const asked: Asked[] = [];
  const words: string[] = [];
  const { url, close } = await startLocalServer(async (request, response) => {
    const raw = await text(request);
    const { method = '', url: path = '', headers } = request;
    const one = { method, path, headers, body: parse(raw) };
    asked.push(one);
    const { next } = server;
    server.next = null;
    if (next) return next(response);
    const seen = answer(one, raw, response);
    if (seen !== null) words.push(seen);
  });
  const server: NotifyServer = { url, asked, words, next: null, close };
  return server;
}

/** https://docs.ntfy.sh/publish: JSON to the root. `topic` requires `token`, other topics are open. */
export function startNtfyServer(topic: string, token: string): Promise<NotifyServer> {
  return startNotifyServer(({ method, path, headers, body }, raw, response) => {
    const refuse = (status: number, error: string) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ code: status * 100 + 1, http: status, error }));
      return null;
    };
    if (path !== '/' || !['POST', 'PUT'].includes(method)) return refuse(404, 'page not found');
    if (Buffer.byteLength(raw) > 2 * 4096) return refuse(413, 'JSON body too large');
    if (!/^[-_A-Za-z0-9]{1,64}$/.test(String(body.topic))) return refuse(400, 'topic invalid');
    if (body.topic === topic && headers.authorization !== `Bearer ${token}`) return refuse(403, 'forbidden');
    if (typeof body.message !== 'string' || Buffer.byteLength(body.message) > 4096)
      return refuse(400, 'message too large');
    if (!Number.isInteger(body.priority) || Number(body.priority) < 1 || Number(body.priority) > 5)
      return refuse(400, 'priority invalid');
    response.end(JSON.stringify({ id: 'hwQ2YpKdmg', event: 'message', topic: body.topic }));
    return `${body.title}\n${body.message}`;
  });
}

/** https://gotify.net/docs/pushmsg: `POST /message` with the token of an application. */
export function startGotifyServer(token: string): Promise<NotifyServer> {
  return startNotifyServer(({ method, path, headers, body }, _raw, response) => {
    const refuse = (errorCode: number, error: string) => {
      response.writeHead(errorCode, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error, errorCode }));
      return null;
    };
    if (method !== 'POST' || path !== '/message') return refuse(404, 'Not Found');
    if (headers['x-gotify-key'] !== token) return refuse(401, 'Unauthorized');
    if (typeof body.message !== 'string' || body.message === '') return refuse(400, 'Bad Request');
    response.end(JSON.stringify({ id: 25, appid: 5, message: body.message, title: body.title }));
    return `${body.title}\n${body.message}`;
  });
}

/** https://github.com/caronc/apprise-api: `POST /notify/<key>`; `key` has one service, tagged `phone`. */
export function startAppriseServer(key: string): Promise<NotifyServer> {
  return startNotifyServer(({ method, path, body }, _raw, response) => {
    const [, asked] = /^\/notify\/([\w-]{1,128})\/?$/.exec(path) ?? [];
    const answer = (status: number, json: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(json));
      return null;
    };
    if (method !== 'POST' || asked === undefined) return answer(404, {});
    if (asked !== key) {
      response.writeHead(204).end();
      return null;
    }
    if (!body.body || !['info', 'success', 'warning', 'failure'].includes(String(body.type)))
      return answer(400, { error: 'Payload lacks minimum requirements' });
    if (body.format !== 'text') return answer(400, { error: 'An invalid body input format was specified' });
    if (body.tag !== undefined && body.tag !== 'phone')
      return answer(424, { error: 'One or more notification could not be sent', details: [] });
    answer(200, { error: '', details: [['INFO', '2026-11-02 12:00:00,000', 'Sent ntfy notification.']] });
    return `${body.title}\n${body.body}`;
  });
}

function parse(raw: string): Record<string, unknown> {
  try {
    return JSON.parse(raw);
  } catch {
    return {};
  }
}
