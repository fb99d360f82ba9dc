import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Preload {
  /** Environment for a process whose calls of the C library are intercepted. */
  LD_PRELOAD: string;
}

/**
 * Compiles `<name>.c` of this directory; removed when this process ends.
 * @returns an error with the reason if there is no compiler, or the system does not support LD_PRELOAD
 */
export function compilePreload(name: string): Preload | Error {
  if (process.platform !== 'linux')
    return new Error(`LD_PRELOAD is Linux's, and this is ${process.platform}`);
  const directory = mkdtempSync(join(tmpdir(), 'earshot-preload-'));
  process.once('exit', () => rmSync(directory, { recursive: true }));
  const library = join(directory, `${name}.so`);
  const source = join(import.meta.dirname, `${name}.c`);
  try {
    execFileSync('gcc', ['-shared', '-fPIC', '-O2', '-Wall', '-o', library, source, '-ldl', '-pthread']);
    return { LD_PRELOAD: library };
  } catch (error) {
    return error as Error;
  }
}
