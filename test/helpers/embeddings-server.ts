import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Embedder } from '../../core/contract/plugin.ts';
import { startLocalServer } from './local-server.ts';

export interface AskedVectors {
  model: string;
  input: string[];
  dimensions?: number;
  encoding_format?: string;
}

export interface EmbeddingsServer {
  /** Including the path: `http://127.0.0.1:port/v1`. */
  baseUrl: string;
  asked: AskedVectors[];
  authorizations: (string | undefined)[];
  /** Answers requests; replaceable. */
  embed: (asked: AskedVectors, response: ServerResponse) => void;
  close(): Promise<void>;
}

/**
 * A server with OpenAI's embeddings endpoint on a real socket. By default its model is `embedder`, with vectors of
 * length 3, and it refuses what such servers refuse.
 */
export async function startEmbeddingsServer(embedder: Embedder): Promise<EmbeddingsServer> {
  const { url, close } = await startLocalServer(answer);
  const server: EmbeddingsServer = {
    baseUrl: `${url}/v1`,
    asked: [],
    authorizations: [],
    embed: ({ input }, response) => void obey(input, response),
    close,
  };
  return server;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST' || request.url !== '/v1/embeddings') return send(response, 404, {});
    server.authorizations.push(request.headers.authorization);
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const asked: AskedVectors = JSON.parse(Buffer.concat(parts).toString('utf8'));
    server.asked.push(asked);
    server.embed(asked, response);
  }

  async function obey(input: string[], response: ServerResponse): Promise<void> {
    if (input.some(text => text.trim() === '' || !text.isWellFormed() || text.length > 10_000)) {
      return send(response, 400, { error: { message: 'the words of the vendor' } });
    }
    const vectors = await embedder.embed(input, new AbortController().signal);
    send(response, 200, { object: 'list', data: vectors.map(itemOf).reverse() });
  }
}

/** `index` is the only indication of the order. */
function itemOf(vector: Float32Array, index: number) {
  return { object: 'embedding', index, embedding: Array.from(vector, number => number * 3) };
}

export function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
