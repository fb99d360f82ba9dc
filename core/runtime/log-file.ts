import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DestinationStream } from 'pino';
import { createStream, type RotatingFileStream } from 'rotating-file-stream';

/** Maximum unwritten lines on a slow disk; further ones go to standard error. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Time after a failure from which the next line is written to the file again. */
const RETRY_MS = 60_000;
const WARN = 40;

interface Options {
  path: string;
  /** A file that has grown past it is renamed, and a new one begun. */
  maxBytes: number;
  /** Renamed files that stay: `PATH.1` is the newest one. */
  keep: number;
  /** Where lines go that the file does not take. */
  fallback: DestinationStream;
  /** Turns a line of JSON into what is written to the file. */
  format?: (line: string) => string;
  retryMs?: number;
}

/**
 * Writes log lines to a file that is rotated by its size. Never throws, waits, or ends the process: a line that the file
 * does not take goes to the fallback, and the file is tried again later. What is unwritten when the process exits is
 * written then.
 */
export function createLogFile({
  path,
  maxBytes,
  keep,
  fallback,
  format = line => line,
  retryMs = RETRY_MS,
}: Options): DestinationStream & { close(): Promise<void> } {
  const file = resolve(path);
  /** Lines that were handed to the stream, and are not written yet. */
  const waiting = new Set<{ line: string }>();
  let stream = open();
  let failedAt: number | null = null;

  function open(): RotatingFileStream {
    const opened = createStream(file, { size: `${maxBytes}B`, rotate: keep, mode: 0o600 });
    opened.on('error', error => {
      if (opened === stream) giveUp(error);
    });
    opened.on('open', () => {
      failedAt = null;
    });
    return opened;
  }

  /** Sends to the fallback what the file did not take. */
  function giveUp(error: Error): void {
    failedAt = performance.now();
    const about = { level: WARN, time: new Date().toISOString(), reason: error.message };
    const msg = 'the log file cannot be written: lines go to standard error until it can';
    fallback.write(`${JSON.stringify({ ...about, msg })}\n`);
    for (const { line } of waiting) fallback.write(line);
    waiting.clear();
  }

  function write(line: string): void {
    if (stream.destroyed && failedAt !== null && performance.now() - failedAt >= retryMs) stream = open();
    if (stream.destroyed || stream.writableLength > MAX_WAITING_BYTES) {
      fallback.write(line);
      return;
    }
    const entry = { line };
    waiting.add(entry);
    stream.write(format(line), error => {
      if (!error) waiting.delete(entry); // after an error, `giveUp` has what waits
    });
  }

  function writeTheRest(): void {
    const rest = [...waiting].map(({ line }) => line);
    try {
      appendFileSync(file, rest.map(format).join(''));
    } catch {
      for (const line of rest) fallback.write(line);
    }
  }
  process.on('exit', writeTheRest);

  return {
    write,
    async close() {
      process.off('exit', writeTheRest);
      if (stream.destroyed) return;
      const closed = new Promise<void>(done => stream.once('close', done));
      stream.end();
      await closed;
    },
  };
}
