import type { IncomingMessage, ServerResponse } from 'node:http';
import { hear } from './known-speech.ts';
import { startLocalServer } from './local-server.ts';

/** A requested transcription, with its multipart body parsed. */
export interface Asked {
  fields: Record<string, string>;
  fileName: string;
  fileType: string;
  /** Samples of the WAV file. */
  pcm: Buffer;
}

export interface OpenAiServer {
  /** Including the path: `http://127.0.0.1:port/v1`. */
  baseUrl: string;
  asked: Asked[];
  /** Paths and `Authorization` headers in the order received. */
  requests: { path: string; authorization: string | undefined }[];
  /** Answers requests for the models; replaceable. */
  listModels: (response: ServerResponse) => void;
  /** Answers transcriptions; replaceable. */
  transcribe: (asked: Asked, response: ServerResponse) => void;
  close(): Promise<void>;
}

/** A server with OpenAI's transcription endpoint on a real socket. By default it recognises SPEECH. */
export async function startOpenAiServer(
  options?: Parameters<typeof startLocalServer>[1],
): Promise<OpenAiServer> {
  const { url, close } = await startLocalServer(answer, options);

  const server: OpenAiServer = {
    baseUrl: `${url}/v1`,
    asked: [],
    requests: [],
    listModels: response => reply(response, 200, { object: 'list', data: [{ id: 'whisper-1' }] }),
    transcribe: recognise,
    close,
  };
  return server;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    server.requests.push({ path, authorization: request.headers.authorization });
    if (request.method === 'GET' && path === '/v1/models') return server.listModels(response);
    if (request.method !== 'POST' || path !== '/v1/audio/transcriptions') return reply(response, 404, {});
    const asked = await readForm(request);
    server.asked.push(asked);
    server.transcribe(asked, response);
  }
}

export function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Answers with times; each word is a segment, with a space before it. */
export function recognise({ fields, pcm }: Asked, response: ServerResponse): void {
  const { text, startSeconds, endSeconds } = hear(pcm);
  if (fields.response_format !== 'verbose_json') {
    reply(response, 200, { text: ` ${text}\n` });
    return;
  }
  const words = text.split(' ').filter(word => word !== '');
  const each = (endSeconds - startSeconds) / words.length;
  const segments = words.map((word, id) => ({
    id,
    text: ` ${word}`,
    start: startSeconds + id * each,
    end: startSeconds + (id + 1) * each,
  }));
  reply(response, 200, { task: 'transcribe', language: 'english', text: ` ${text}`, segments });
}

async function readForm(request: IncomingMessage): Promise<Asked> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  const form = await new Response(Buffer.concat(parts), { headers }).formData();
  const file = form.get('file');
  if (!(file instanceof File)) throw new Error('the form has no file');
  const wav = Buffer.from(await file.arrayBuffer());
  if (wav.toString('latin1', 0, 4) !== 'RIFF' || wav.toString('latin1', 8, 12) !== 'WAVE')
    throw new Error('the file is no WAV file');
  const fields = [...form].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []));
  return {
    fields: Object.fromEntries(fields),
    fileName: file.name,
    fileType: file.type,
    pcm: wav.subarray(44),
  };
}
