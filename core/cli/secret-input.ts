import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { AppError } from '../runtime/errors.ts';

const MAX_BYTES = 64 * 1024;

/**
 * Reads a secret: typed twice without being shown, or piped in, in which case it is all of standard input without its
 * last line end. It never stands on the command line, where other users could read it.
 * @throws {AppError} `invalid_request` where nothing was entered, or not the same twice
 */
export async function readSecret(what: string): Promise<string> {
  const secret = process.stdin.isTTY ? await askTwice(what) : await readPiped();
  if (secret !== '') return secret;
  throw new AppError('invalid_request', `no ${what} was given; type it, or pipe it in`);
}

async function readPiped(): Promise<string> {
  const given = await text(process.stdin);
  if (given.length > MAX_BYTES) throw new AppError('too_large', 'standard input is too long for a secret');
  return given.replace(/\r?\n$/, '');
}

async function askTwice(what: string): Promise<string> {
  const first = await askHidden(`New ${what}: `);
  if (first === '' || first === (await askHidden('Again: '))) return first;
  throw new AppError('invalid_request', `the two ${what}s are not the same; nothing was changed`);
}

/** readline reads the keys, and its echo is discarded. */
async function askHidden(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true, historySize: 0 });
  const given = new AbortController();
  lines.once('SIGINT', () => given.abort());
  lines.once('close', () => given.abort());
  process.stderr.write(question);
  try {
    return await lines.question('', { signal: given.signal });
  } catch (cause) {
    throw new AppError('invalid_request', 'cancelled; nothing was changed', { cause });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
