import { spawn } from 'node:child_process';
import { basename, extname } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { AppError, type ErrorCode } from '../../runtime/errors.ts';
import { lowerPriority } from '../../runtime/priority.ts';
import { ForeignItem, type ForeignSource, type ForeignThing } from './foreign-item.ts';
import type { Recognised } from './read-files.ts';

const ENTRY = fileURLToPath(new URL(`./read-main${extname(import.meta.filename)}`, import.meta.url));
/** Memory limit of the process in MiB, sufficient for a JSON file of 256 MiB. */
const MEMORY_MB = 2048;
const MAX_SAID_CHARS = 20_000;

/**
 * Recognises and reads an export of another product, from a file, a folder or a ZIP archive, in a separate process, so that
 * neither a large nor a broken file delays the server. Null: it is an archive of Earshot itself.
 * @param timeZone of times without a zone
 */
export async function openForeignFiles(path: string, timeZone: string): Promise<ForeignSource | null> {
  const reading = read(path, timeZone);
  const first = await reading.next();
  await reading.return(undefined);
  const { formats } = first.value as Recognised; // the first line
  if (formats.length === 0) return null;
  return {
    format: formats.join(', '),
    name: basename(path),
    async *things() {
      const lines = read(path, timeZone);
      await lines.next();
      for await (const line of lines) yield ForeignItem.parse(line) satisfies ForeignThing;
    },
  };
}

async function* read(path: string, timeZone: string): AsyncGenerator<unknown> {
  const request = JSON.stringify({ path, timeZone });
  const child = spawn(process.execPath, [`--max-old-space-size=${MEMORY_MB}`, ENTRY, request], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = text(child.stderr).catch(() => '');
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve).once('error', reject);
  });
  ended.catch(() => {});
  lowerPriority(child.pid);
  try {
    for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line);
    if ((await ended) !== 0) throw failureIn(await said);
  } finally {
    child.kill('SIGKILL');
  }
}

/** Parses the last line of the reader's output; a process that crashed on its input leaves another one, or none. */
function failureIn(said: string): AppError {
  try {
    const { code, message }: { code: ErrorCode; message: string } = JSON.parse(
      said.trim().split('\n').at(-1) ?? '',
    );
    return new AppError(code, message);
  } catch {
    const cause = new Error(said.slice(-MAX_SAID_CHARS));
    return new AppError('invalid_request', 'Nothing was imported: it cannot be read', { cause });
  }
}
