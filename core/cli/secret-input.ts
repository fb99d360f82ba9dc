import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { AppError } from '../runtime/errors.ts';

const MAX_BYTES = 64 * 1024;

/**
 * A secret that is typed, twice and without being shown, or piped in: then it is all of standard input, without its
 * last line end. It never stands on the command line, where others can read it.
 * @throws {AppError} `invalid_request` where nothing came, or not the same twice
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

/** The terminal is read key by key, and what readline would show of them goes nowhere. */
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
    throw new AppError('invalid_request', 'given up; nothing was changed', { cause });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
