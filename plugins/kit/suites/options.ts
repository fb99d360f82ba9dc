import type { z } from 'zod';
import { descriptionOf, keysOf } from '../../../config/keys.ts';
import { ConfigError } from '../../../config/load.ts';
import { AppError } from '../../../core/runtime/errors.ts';

/**
 * Describes how a plugin treats an empty configuration: it has defaults, or it says what it needs.
 * @param read returns the options of an empty section
 * @throws any other error of the plugin
 */
export function tellEmpty(read: () => unknown): string {
  try {
    read();
    return 'it has defaults for everything that it needs';
  } catch (error) {
    if (error instanceof ConfigError) return `it says what it needs: ${error.problems.join('; ')}`;
    throw error;
  }
}

/** @throws {AppError} that names the options without a description */
export function checkDescriptions(schema: z.core.$ZodType): void {
  const bare = keysOf(schema).filter(key => !descriptionOf(key.schema)?.trim());
  if (bare.length === 0) return;
  throw new AppError(
    'internal',
    `${namesOf(bare)} has no description; add .describe('…') for the operator who configures it`,
  );
}

const LOOKS_SECRET = /(key|token|secret|password|passphrase|credential)s?$/i;

/** Lists options that look like secrets but are not marked as such; empty if there are none. */
export function tellUnmarked(schema: z.core.$ZodType): string {
  const unmarked = keysOf(schema).filter(
    ({ path, secret }) => !secret && LOOKS_SECRET.test(path.at(-1) ?? ''),
  );
  if (unmarked.length === 0) return '';
  return `${namesOf(unmarked)} looks like a secret; add .meta({ secret: true }), or it will be printed`;
}

function namesOf(keys: readonly { path: string[] }[]): string {
  return keys.map(({ path }) => path.join('.')).join(', ');
}
