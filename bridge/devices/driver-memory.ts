import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { DriverMemory } from '../driver.ts';
import { oneAtATime } from '../one-at-a-time.ts';

const MAX_BYTES = 64 * 1024;
/** Form of the bridge's own ids; anything else is not used as a file name. */
const FILE_NAME = /^[\w-]{1,100}$/;

/**
 * Stores the values that drivers keep for each device.
 * @param dir null: only in memory
 */
export function createMemories(dir: string | null): { of(clientDeviceId: string): DriverMemory } {
  const memories = new Map<string, DriverMemory>();

  function open(clientDeviceId: string): DriverMemory {
    const isNamed = dir !== null && FILE_NAME.test(clientDeviceId);
    const memory = createMemory(isNamed ? join(dir, `${clientDeviceId}.json`) : null);
    memories.set(clientDeviceId, memory);
    return memory;
  }

  return { of: clientDeviceId => memories.get(clientDeviceId) ?? open(clientDeviceId) };
}

function createMemory(file: string | null): DriverMemory {
  const values = new Map(file ? Object.entries(readValues(file)) : []);
  const inTurn = oneAtATime();

  return {
    get: key => values.get(key),
    set(key, value) {
      values.set(key, value);
      const text = JSON.stringify(Object.fromEntries(values));
      if (text.length > MAX_BYTES) {
        values.delete(key);
        return Promise.reject(
          new Error(`a driver may store ${MAX_BYTES} bytes for a device; ${key} exceeds that`),
        );
      }
      return inTurn(() => (file ? writeWhole(file, text) : undefined));
    },
  };
}

/** An unreadable file counts as an empty one. */
function readValues(file: string): Record<string, unknown> {
  if (!existsSync(file)) return {};
  try {
    const values: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof values === 'object' && values !== null ? { ...values } : {};
  } catch {
    return {};
  }
}

/** Replaces the file atomically. */
async function writeWhole(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 });
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}
