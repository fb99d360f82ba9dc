import { createWriteStream } from 'node:fs';
import { link, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { AppError } from '../runtime/errors.ts';

const Export = z.object({
  id: z.uuid(), // it becomes part of a file's name
  state: z.enum(['running', 'ready', 'failed']),
  bytes: z.int().min(0),
  error: z.string().nullable(),
});
type Export = z.infer<typeof Export>;

const POLL_MS = 1000;
/** Attempts without any progress. */
const MAX_TRIES = 10;
const REQUEST_MS = 60_000;

interface Options {
  /** Address of the server. */
  url: string;
  /** ID token of the account. */
  token: string;
  /** The new file. What has arrived is beside it until it is whole, also after this process has ended. */
  file: string;
  onProgress(bytes: number): void;
}

/**
 * Downloads everything that an account owns from a server elsewhere. Where an earlier run was interrupted, only the
 * rest is downloaded. Resolves to the number of bytes.
 */
export async function downloadExport({ url, token, file, onProgress }: Options): Promise<number> {
  const ask = (method: string, path = '', headers: Record<string, string> = {}) =>
    fetch(new URL(`/v1/users/exports${path}`, url), {
      method,
      headers: { ...headers, Authorization: `Bearer ${token}` },
      ...(path === '' && { signal: AbortSignal.timeout(REQUEST_MS) }),
    }).catch(cause => {
      throw new AppError('unavailable', `${url} cannot be reached`, { cause });
    });
  const list = async () => z.array(Export).parse(await answerOf(await ask('GET')));
  const partOf = ({ id }: Export) => `${file}.${id}.part`;

  async function ready(): Promise<Export> {
    const [left] = await list();
    let current = left?.state === 'ready' && (await sizeOf(partOf(left))) > 0 ? left : undefined;
    current ??= Export.parse(await answerOf(await ask('POST')));
    while (current.state === 'running') {
      await sleep(POLL_MS);
      const [now] = await list();
      if (now?.id !== current.id)
        throw new AppError('conflict', 'The export was deleted meanwhile: run the command again');
      current = now;
    }
    if (current.state === 'failed')
      throw new AppError('unavailable', `The export failed: ${current.error ?? ''}`);
    return current;
  }

  const found = await ready();
  const part = partOf(found);
  for (let tries = 0, before = -1; ; tries++) {
    const size = await sizeOf(part);
    if (size === found.bytes) break;
    if (size > before) tries = 0;
    if (tries === MAX_TRIES)
      throw new AppError(
        'unavailable',
        `The download was interrupted at ${size} bytes: run the command again to resume`,
      );
    if (tries > 0) await sleep(POLL_MS);
    before = size;
    await resume(size).catch(error => {
      if (error instanceof AppError && error.code !== 'unavailable') throw error;
    });
  }
  await link(part, file).catch(cause => {
    const { code } = cause as NodeJS.ErrnoException;
    const reason =
      code === 'EEXIST' ? 'is there already: name another file with --to' : `could not be written (${code})`;
    throw new AppError('conflict', `${file} ${reason}`, { cause });
  });
  await rm(part);
  await ask('DELETE', `/${found.id}`).catch(() => {}); // it expires anyway
  return found.bytes;

  async function resume(from: number): Promise<void> {
    const answer = await ask('GET', `/${found.id}`, { Range: `bytes=${from}-`, 'If-Range': `"${found.id}"` });
    if (answer.status !== 206 || !answer.body) {
      await answerOf(answer);
      throw new AppError('upstream_error', `${url} does not support resuming downloads`);
    }
    let bytes = from;
    await pipeline(
      answer.body,
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          bytes += chunk.length;
          onProgress(bytes);
          yield chunk;
        }
      },
      createWriteStream(part, { flags: 'a', mode: 0o600, flush: true }),
    );
  }
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

const Detail = z.object({ detail: z.string() });

async function answerOf(answer: Response): Promise<unknown> {
  const body = await answer.json().catch(() => null);
  if (answer.ok) return body;
  const { detail } = Detail.catch({ detail: String(answer.status) }).parse(body);
  const code = answer.status >= 500 || answer.status === 429 ? 'unavailable' : 'forbidden';
  throw new AppError(code, `The server refuses: ${detail}`);
}
