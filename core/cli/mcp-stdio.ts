import { Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { LoadedConfig } from '../../config/load.ts';
import { AppError } from '../runtime/errors.ts';
import { version } from '../runtime/version.ts';
import type { McpOptions } from './mcp.ts';
import { findServer } from './running-server.ts';

/** Protocol version that clients of 2025 and the server share. */
const PROTOCOL = '2025-06-18';
const CALL_MS = 60_000;

/** Forwards what a client sends on standard input to the server's `/mcp`. Resolves when the client has gone. */
export async function serveMcp(options: McpOptions, loaded: LoadedConfig): Promise<void> {
  const ask = createAsk(options, loaded);
  const instructions = await ask('initialize', {
    protocolVersion: PROTOCOL,
    capabilities: {},
    clientInfo: { name: 'earshot mcp', version },
  }); // reports a wrong address or credential at once
  const info = { name: 'earshot', title: 'Earshot', version };
  const settings = { capabilities: { tools: {} }, instructions: String(instructions.instructions) };
  const handle = serveStdio(() => {
    const server = new Server(info, settings);
    server.setRequestHandler('tools/list', async () => (await ask('tools/list', {})) as never); // checked by the server
    server.setRequestHandler('tools/call', async ({ params }) => (await ask('tools/call', params)) as never);
    return server;
  });
  await new Promise<void>(resolve => process.stdin.once('end', resolve).once('close', resolve));
  await handle.close();
}

type Result = Record<string, unknown>;

function createAsk(options: McpOptions, loaded: LoadedConfig) {
  let id = 0;
  let found: ReturnType<typeof findServer> | undefined;

  async function post(body: string): Promise<Response> {
    found ??= findServer(options, loaded);
    const { base, credential } = await found;
    return fetch(new URL(options.write ? '/mcp?write=true' : '/mcp', base), {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${credential}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': PROTOCOL,
      },
      body,
      signal: AbortSignal.timeout(CALL_MS),
    });
  }

  /** Retries once where the server was restarted meanwhile, or the token has expired. */
  async function postAgain(body: string): Promise<Response> {
    const answer = await post(body).catch(() => null);
    if (answer && answer.status !== 401) return answer;
    found = undefined;
    return post(body).catch(cause => {
      if (cause instanceof AppError) throw cause; // no server, or no such account
      const where = options.url ?? 'The Earshot server';
      throw new AppError('unavailable', `${where} does not answer`, { cause });
    });
  }

  return async (method: string, params: unknown): Promise<Result> => {
    id += 1;
    const answer = await postAgain(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    if (answer.status === 401 && options.key !== undefined)
      throw new AppError('unauthorized', 'The server rejects the API key: it is unknown, or was revoked');
    const { result, error, detail } = await messageOf(answer).catch(cause => {
      throw new AppError('upstream_error', `${answer.url} does not answer as an Earshot server does`, {
        cause,
      });
    });
    if (result) return result;
    const reason = typeof detail === 'string' ? detail : JSON.stringify(detail);
    throw new AppError('upstream_error', error?.message ?? reason);
  };
}

interface Message {
  result?: Result;
  error?: { message: string };
  detail?: unknown;
}

/** Parses a response: JSON, or one event that holds it. */
async function messageOf(answer: Response): Promise<Message> {
  const text = await answer.text();
  if (!answer.headers.get('Content-Type')?.startsWith('text/event-stream')) return JSON.parse(text);
  const data = text.split('\n').find(line => line.startsWith('data: '));
  return JSON.parse(data?.slice('data: '.length) ?? '{}');
}
