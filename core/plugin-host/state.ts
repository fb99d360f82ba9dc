import { isDeepStrictEqual } from 'node:util';
import type { PluginState, PluginStateStore } from '../contract/plugin.ts';
import { AppError } from '../runtime/errors.ts';

const MAX_VALUE_BYTES = 64 * 1024;
const MAX_KEY_CHARACTERS = 200;

/** The part of the store that belongs to one plugin; `store` is called at each use. */
export function createPluginState(plugin: string, store: () => PluginStateStore): PluginState {
  return {
    get: async key => store().get(plugin, checkKey(plugin, key)),
    compareAndSet: async (key, version, value) =>
      store().compareAndSet(plugin, checkKey(plugin, key), version, checkValue(plugin, key, value)),
    list: async (prefix = '') => store().list(plugin, prefix),
    delete: async key => store().delete(plugin, checkKey(plugin, key)),
  };
}

function checkKey(plugin: string, key: unknown): string {
  if (typeof key === 'string' && key.length > 0 && key.length <= MAX_KEY_CHARACTERS) return key;
  throw new AppError(
    'invalid_request',
    `State of ${plugin}: a key is text of 1 to ${MAX_KEY_CHARACTERS} characters`,
  );
}

/** Values that JSON would change are refused: what is read must equal what was written. */
function checkValue(plugin: string, key: string, value: unknown): unknown {
  const text = toJson(value);
  if (text === undefined || !isDeepStrictEqual(JSON.parse(text), value)) {
    throw new AppError(
      'invalid_request',
      `State of ${plugin}: the value of ${key} is not plain JSON (undefined, a date, NaN, a class, a cycle)`,
    );
  }
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_VALUE_BYTES) return value;
  throw new AppError(
    'too_large',
    `State of ${plugin}: the value of ${key} has ${bytes} bytes; at most ${MAX_VALUE_BYTES} are kept`,
  );
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
