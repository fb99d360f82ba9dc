import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { Clock } from '../contract/model.ts';
import { AppError } from '../runtime/errors.ts';
import { freeBytes } from '../runtime/files.ts';
import { refuseLargeBody } from './json-body.ts';

/** A file of a request, stored on disk. */
export interface UploadedFile {
  path: string;
  /** Name given by the sender; '' where there is none. */
  name: string;
  bytes: number;
}

/** The body of a request with files. */
export interface Upload {
  files: UploadedFile[];
  /** Text fields of the form. */
  fields: Record<string, string>;
  /** True: the body was a single file, without a form. */
  isRaw: boolean;
}

export const NO_UPLOAD: Upload = { files: [], fields: {}, isRaw: false };

/** Limits and formats that a route accepts. */
export interface UploadRules {
  /** Maximum size of the whole body. */
  maxBytes: number;
  /** Name of the form field that holds files. */
  field: string;
}

export const RAW_TYPE = 'application/octet-stream';
export const FORM_TYPE = 'multipart/form-data';
/** Maximum number of files in one form. */
const MAX_FILES = 20;
const MAX_FIELDS = 20;
const MAX_FIELD_BYTES = 1024;
const MAX_HEADERS = 20;
/** Maximum time without any data from the sender. */
const STALL_MS = 60_000;
/** Maximum number of simultaneous uploads of one account. */
const MAX_UPLOADS = 4;

type Exchange = { req: IncomingMessage; res: ServerResponse };

export type Uploads = ReturnType<typeof createUploads>;

/** Writes files of requests to disk as they arrive. */
export function createUploads({
  dir,
  minFreeBytes,
  clock,
}: {
  /** Directory for the files. What a killed process left there is removed by `begun`. */
  dir: string;
  /** Free space on the disk below which uploads are refused. */
  minFreeBytes: number;
  clock: Pick<Clock, 'sleep'>;
}) {
  const running = new Map<string, number>();

  /** Reads the body. The caller calls `release` in the end, which removes the files that it has not moved away. */
  function open(exchange: Exchange, rules: UploadRules) {
    const paths: string[] = [];
    let leave = () => {};

    async function read(userId: string): Promise<Upload> {
      refuseLargeBody(exchange.req, rules.maxBytes);
      leave = enter(userId);
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await refuseWithoutRoom(Number(exchange.req.headers['content-length'] ?? 0));
      const target = () => {
        const path = join(dir, `${randomUUID()}.unfinished`);
        paths.push(path);
        return path;
      };
      return receive(exchange, rules, target, clock);
    }

    async function release() {
      leave();
      for (const path of paths.splice(0)) await rm(path, { force: true });
    }

    return { read, release };
  }

  /** Rejects with what ends it. */
  function enter(userId: string): () => void {
    const own = running.get(userId) ?? 0;
    if (own >= MAX_UPLOADS)
      throw new AppError('rate_limited', 'Too many uploads at once: send one after the other', {
        retryAfter: 5,
      });
    running.set(userId, own + 1);
    return () => {
      const left = (running.get(userId) ?? 1) - 1;
      if (left > 0) running.set(userId, left);
      else running.delete(userId);
    };
  }

  async function refuseWithoutRoom(bytes: number) {
    if ((await freeBytes(dir)) - bytes < minFreeBytes)
      throw new AppError('storage_full', 'The disk of the server has no room for it');
  }

  return {
    open,
    /** Removes what an earlier process left. */
    begin: () => rm(dir, { recursive: true, force: true }),
  };
}

/**
 * @throws AppError `unsupported_media` for other types, `invalid_request` for a malformed form, `too_large`,
 * `too_slow`
 */
async function receive(
  exchange: Exchange,
  { field, maxBytes }: UploadRules,
  target: () => string,
  clock: Pick<Clock, 'sleep'>,
): Promise<Upload> {
  const { req, res } = exchange;
  const [type = ''] = (req.headers['content-type'] ?? '').split(';');
  const limits = { maxBytes, clock };
  if (req.headers.expect !== undefined) res.writeContinue();
  if (type.trim().toLowerCase() === RAW_TYPE) {
    const path = target();
    const bytes = await feed(req, createWriteStream(path, FILE), limits);
    return { files: bytes === 0 ? [] : [{ path, name: '', bytes }], fields: {}, isRaw: true };
  }
  if (type.trim().toLowerCase() !== FORM_TYPE)
    throw new AppError('unsupported_media', `The body must be ${FORM_TYPE} or ${RAW_TYPE}`);
  const form = openForm(req, field, target);
  await feed(req, form.parser, limits);
  return { ...(await form.read()), isRaw: false };
}
const FILE = { flags: 'wx', mode: 0o600 } as const;

/** Parses a form, and writes its files to disk. */
function openForm(request: IncomingMessage, field: string, target: () => string) {
  const fields: Record<string, string> = {};
  const files: UploadedFile[] = [];
  const writing: Promise<void>[] = [];
  let refusal: AppError | null = null;
  const parser = parserOf(request);
  const refuse = (why: string) => {
    refusal ??= invalid(why);
  };
  parser.on('field', (name: string, value: string, _: boolean, isCut: boolean) => {
    if (isCut) refuse(`${name}: at most ${MAX_FIELD_BYTES} bytes`);
    fields[name] = value;
  });
  parser.on('file', (name: string, stream: Readable, fileName: string | undefined) => {
    if (name !== field) return void stream.resume();
    const file = { path: target(), name: fileName ?? '', bytes: 0 };
    files.push(file);
    stream.on('data', (chunk: Buffer) => {
      file.bytes += chunk.length;
    });
    const written = pipeline(stream, createWriteStream(file.path, FILE));
    written.catch(error => parser.destroy(error));
    writing.push(written);
  });
  parser.on('filesLimit', () => refuse(`${field}: at most ${MAX_FILES} files`));
  parser.on('fieldsLimit', () => refuse(`A form has at most ${MAX_FIELDS} fields`));
  return {
    parser,
    async read() {
      await Promise.all(writing);
      if (refusal) throw refusal;
      return { files: files.filter(({ bytes }) => bytes > 0), fields };
    },
  };
}

function parserOf({ headers }: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
      limits: {
        files: MAX_FILES,
        fields: MAX_FIELDS,
        parts: MAX_FILES + MAX_FIELDS,
        fieldSize: MAX_FIELD_BYTES,
        headerPairs: MAX_HEADERS,
      },
    });
  } catch (cause) {
    throw invalid('The form has no boundary', cause);
  }
}

function invalid(msg: string, cause?: unknown): AppError {
  return new AppError('invalid_request', msg, {
    cause,
    issues: [{ loc: ['body'], msg, type: 'value_error' }],
  });
}

/**
 * Writes a body into `to` as it arrives, with back-pressure. Uses events rather than a pipe: a pipe that breaks would
 * close the socket before the response is sent. Resolves to its length.
 */
async function feed(
  request: IncomingMessage,
  to: Writable,
  { maxBytes, clock }: { maxBytes: number; clock: Pick<Clock, 'sleep'> },
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let bytes = 0;
  let moved = true;
  const hasMoved = () => {
    const was = moved;
    moved = false;
    return was;
  };
  const watch = watchStall(clock, hasMoved, reject);
  const onData = (chunk: Buffer) => {
    bytes += chunk.length;
    moved = true;
    if (bytes > maxBytes)
      return reject(new AppError('too_large', `A request body may have ${maxBytes} bytes at most`));
    if (to.write(chunk)) return;
    request.pause();
    to.once('drain', () => {
      moved = true;
      request.resume();
    });
  };
  const onEnd = () => to.end();
  const onGone = () =>
    request.readableEnded || reject(new AppError('invalid_request', 'The request ended before its body'));
  to.once('finish', resolve);
  to.once('error', cause => reject(faultOf(cause)));
  request.on('data', onData).once('end', onEnd).once('close', onGone);
  try {
    await promise;
    return bytes;
  } catch (error) {
    request.off('data', onData).off('end', onEnd).pause(); // the rest is left to `leaveBody`
    to.destroy();
    throw error;
  } finally {
    watch.abort();
    request.off('close', onGone);
  }
}

/** Tells errors of the disk, which have a code, from errors in the form. */
function faultOf(cause: NodeJS.ErrnoException): unknown {
  if (cause instanceof AppError) return cause;
  if (cause.code === 'ENOSPC')
    return new AppError('storage_full', 'The disk of the server is full', { cause });
  return cause.code?.startsWith('E') && cause.syscall
    ? cause
    : invalid('The form is not complete, or is none', cause);
}

function watchStall(
  clock: Pick<Clock, 'sleep'>,
  hasMoved: () => boolean,
  onStall: (error: AppError) => void,
) {
  const done = new AbortController();
  void (async () => {
    for (let isMoving = true; isMoving; isMoving = hasMoved()) await clock.sleep(STALL_MS, done.signal);
    onStall(new AppError('too_slow', `Nothing of the request body came for ${STALL_MS / 1000} s`));
  })().catch(() => {}); // it has ended
  return done;
}
