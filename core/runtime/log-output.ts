import type { Writable } from 'node:stream';
import type { DestinationStream } from 'pino';

/** Lines that are kept for a reader that has stopped reading; further lines are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024;
const WARN = 40;

let dropped = 0;
/** Streams whose errors must not end the process. */
const survivors = new WeakSet<object>();

/** Log lines of this process that could not be written: the reader is gone or does not read, or the disk is full. */
export function droppedLogLines(): number {
  return dropped;
}

/**
 * Writes log lines to a stream, and never throws, waits, or ends the process. Lines that the stream does not take are
 * counted; once it takes lines again, one of them says how many are missing.
 * @param format turns a line of JSON into what is written
 */
export function createLogOutput(
  stream: Pick<Writable, 'write' | 'writableLength' | 'on'>,
  format: (line: string) => string = line => line,
): DestinationStream {
  let missing = 0;
  if (!survivors.has(stream)) stream.on('error', () => {}); // also passed to the callback of each write
  survivors.add(stream);

  function drop(): void {
    dropped += 1;
    missing += 1;
  }

  function send(text: string): void {
    if (stream.writableLength > MAX_WAITING_BYTES) drop();
    else
      stream.write(text, error => {
        if (error) drop();
        else if (missing > 0) reportMissing();
      });
  }

  function reportMissing(): void {
    const count = missing;
    missing = 0;
    const msg = 'log lines were dropped: their reader did not take them, or the disk was full';
    const line = JSON.stringify({ level: WARN, time: new Date().toISOString(), dropped: count, msg });
    stream.write(format(`${line}\n`), error => {
      if (error) missing += count;
    });
  }

  return { write: line => send(format(line)) };
}
