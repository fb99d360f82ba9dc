/** The process that decodes one audio file: 16-bit samples at 16 kHz, mono, on its standard output. */
import { writeSync } from 'node:fs';
import { samplesToBytes } from '../../audio/pcm.ts';
import { toAppError } from '../../runtime/errors.ts';
import { samplesOf } from './audio-file.ts';
import type { DecodeFailure, DecodeRequest } from './decode.ts';

const { path, name }: DecodeRequest = JSON.parse(process.argv[2] ?? '');
try {
  for await (const samples of samplesOf(path, name)) writeAll(samplesToBytes(samples));
} catch (thrown) {
  const { code, message } = toAppError(thrown, 'invalid_input');
  const failure: DecodeFailure = { code, message };
  process.stderr.write(`${JSON.stringify(failure)}\n`);
  process.exitCode = 1;
}

/** Waits until the output is read, so that the reader can slow this process down. */
function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}
