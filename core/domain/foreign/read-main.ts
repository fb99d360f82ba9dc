/** The process that reads the files of other products: one JSON object per line on its standard output. */
import { writeSync } from 'node:fs';
import { toAppError } from '../../runtime/errors.ts';
import { type ReadRequest, readFiles } from './read-files.ts';

const request: ReadRequest = JSON.parse(process.argv[2] ?? '');
try {
  for await (const line of readFiles(request)) writeAll(Buffer.from(`${JSON.stringify(line)}\n`));
} catch (thrown) {
  const { code, message } = toAppError(thrown, 'internal');
  process.stderr.write(`${JSON.stringify({ code, message })}\n`);
  process.exitCode = 1;
}

/** Waits until the output is read, so that the reader can slow this process down. */
function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}
