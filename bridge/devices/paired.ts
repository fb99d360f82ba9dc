import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { hashOf } from './sink.ts';

const Paired = z.object({
  /** Lower case, with colons. */
  address: z.string().min(1).max(100),
  /** Name that its owner chose. */
  name: z.string().min(1).max(100),
  /** Account that owns its audio; null: that of the bridge's key. */
  owner: z.string().nullable(),
  /** API key of that account; null: the bridge's key. */
  key: z.string().nullable(),
});
/** A wearable that was chosen by `pair`. */
export type Paired = z.output<typeof Paired>;

const MAX_PAIRED = 64;

/** Reads the paired wearables. @throws Error that names the file if it is invalid */
export async function readPaired(dir: string): Promise<Paired[]> {
  const file = fileIn(dir);
  const text = await readFile(file, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return '[]';
    throw new Error(`cannot read the paired wearables: ${error.message}`);
  });
  try {
    return z.array(Paired).max(MAX_PAIRED).parse(JSON.parse(text));
  } catch {
    throw new Error(`${file} is damaged; remove it, and pair again: earshot bridge pair`);
  }
}

/** Replaces the file atomically, readable only by this system account, because it contains keys. */
export async function writePaired(dir: string, all: readonly Paired[]): Promise<void> {
  if (all.length > MAX_PAIRED)
    throw new Error(
      `there are ${MAX_PAIRED} paired wearables: forget one, with earshot bridge pair --forget NAME`,
    );
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const file = fileIn(dir);
  await writeFile(`${file}.new`, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Finds a device by its id in core, of live or stored audio. */
export function pairedOf(all: readonly Paired[], clientDeviceId: string): Paired | undefined {
  return all.find(({ address }) => clientDeviceId.includes(`_${hashOf(address)}`));
}

const fileIn = (dir: string) => join(dir, 'paired.json');
