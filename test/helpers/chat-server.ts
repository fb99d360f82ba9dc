import type { IncomingMessage, ServerResponse } from 'node:http';
import { startLocalServer } from './local-server.ts';

export interface AskedChat {
  model: string;
  messages: {
    role: string;
    content: string | { type: string; text?: string; image_url?: { url: string } }[];
  }[];
  stream?: boolean;
  max_tokens?: number;
  response_format?: { type: string; json_schema?: { schema: JsonSchema; strict: boolean } };
}

interface JsonSchema {
  type?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  enum?: unknown[];
  anyOf?: JsonSchema[];
}

export interface ChatServer {
  /** Including the path: `http://127.0.0.1:port/v1`. */
  baseUrl: string;
  asked: AskedChat[];
  requests: { path: string; authorization: string | undefined }[];
  /** Answers requests for the models; replaceable. */
  listModels: (response: ServerResponse) => void;
  /** Answers questions; replaceable. May be called several times for one question of the plugin. */
  chat: (asked: AskedChat, response: ServerResponse) => void;
  close(): Promise<void>;
}

/**
 * A server with OpenAI's chat endpoint on a real socket, as of Ollama, llama.cpp and vLLM: answers are server-sent events. By
 * default it answers every question in the form of its schema.
 */
export async function startChatServer(): Promise<ChatServer> {
  const { url, close } = await startLocalServer(answer);
  const server: ChatServer = {
    baseUrl: `${url}/v1`,
    asked: [],
    requests: [],
    listModels: response => refuse(response, 200, { object: 'list', data: [{ id: 'llama3.2' }] }),
    chat: (asked, response) => say(response, obedient(asked)),
    close,
  };
  return server;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    server.requests.push({ path, authorization: request.headers.authorization });
    if (request.method === 'GET' && path === '/v1/models') return server.listModels(response);
    if (request.method !== 'POST' || path !== '/v1/chat/completions') return refuse(response, 404, {});
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const asked: AskedChat = JSON.parse(Buffer.concat(parts).toString('utf8'));
    if (asked.stream !== true) throw new Error('this server only streams');
    server.asked.push(asked);
    server.chat(asked, response);
  }
}

/** Answers as the request's schema demands. */
function obedient({ response_format }: AskedChat): string {
  const schema = response_format?.json_schema?.schema;
  return schema === undefined ? 'Red is a warm colour.' : JSON.stringify(sampleOf(schema));
}

function sampleOf(schema: JsonSchema): unknown {
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return sampleOf(schema.anyOf[0] ?? {});
  if (schema.type === 'array') return [sampleOf(schema.items ?? {})];
  if (schema.type === 'number' || schema.type === 'integer') return 1;
  if (schema.type === 'boolean') return true;
  if (schema.type === 'null') return null;
  if (schema.type !== 'object') return 'red';
  return Object.fromEntries(
    (schema.required ?? []).map(key => [key, sampleOf(schema.properties?.[key] ?? {})]),
  );
}

/** Sends the text as one event per few characters, then the end. */
export function say(response: ServerResponse, text: string, finish = 'stop'): void {
  begin(response);
  for (const piece of text.match(/[\s\S]{1,5}/g) ?? []) delta(response, { content: piece });
  end(response, finish);
}

export function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  delta(response, { role: 'assistant', content: '' });
}

export function delta(response: ServerResponse, content: Record<string, unknown>): void {
  event(response, { choices: [{ index: 0, delta: content, finish_reason: null }] });
}

export function end(response: ServerResponse, finish = 'stop'): void {
  event(response, { choices: [{ index: 0, delta: {}, finish_reason: finish }] });
  response.end('data: [DONE]\n\n');
}

export function event(response: ServerResponse, body: Record<string, unknown>): void {
  const whole = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'llama3.2', ...body };
  response.write(`data: ${JSON.stringify(whole)}\n\n`);
}

export function refuse(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
