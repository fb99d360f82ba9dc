/** Files that the author of a plugin gives to `plugin check`: options and an address. */
import { dirname, relative } from 'node:path';
import type { z } from 'zod';
import { ConfigError } from '../../../config/load.ts';
import { fillSecrets } from '../../../config/secrets.ts';
import { readFileLayer } from '../../../config/yaml-file.ts';
import { type Addressed, allowedAddress } from '../../../core/domain/addresses.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { reasonOf } from '../suites/reporter.ts';

/** @throws {AppError} that says what is wrong and how to give the options */
export function readGiven(read: () => unknown, hasFile: boolean): void {
  try {
    read();
  } catch (error) {
    if (hasFile) throw error;
    throw new AppError(
      'config_error',
      `${reasonOf(error)}; for this check, give it with --options FILE.yaml`,
    );
  }
}

/** Content of a YAML file, and where each key is. */
export interface GivenKeys {
  values: Record<string, unknown>;
  /** Where a key was given, as `file:line`, or the file if it was not; null without a file. */
  where(path: readonly string[]): string | null;
}

export const NOTHING_GIVEN: GivenKeys = { values: {}, where: () => null };

/**
 * Reads the options of a plugin, with the content of the files that its secrets name: `apiKeyFile`. Relative ones
 * count from the directory of `file`.
 * @throws {ConfigError} if a file cannot be read
 */
export function readOptions(plugin: string, schema: z.core.$ZodType, file: string | null): GivenKeys {
  const given = readKeys(file);
  if (file === null) return given;
  const problems: string[] = [];
  const label = (path: string[]) => `${given.where(path)}: ${['plugins', plugin, ...path].join('.')}`;
  const values = fillSecrets(schema, given.values, { dir: dirname(file), label, problems });
  if (problems.length > 0) throw new ConfigError(problems);
  return { ...given, values };
}

/**
 * Reads the keys and values of a YAML file; none without a file.
 * @throws {ConfigError} with file and line if it cannot be read
 */
export function readKeys(file: string | null): GivenKeys {
  if (file === null) return NOTHING_GIVEN;
  const fromHere = relative(process.cwd(), file);
  const label = fromHere.startsWith('..') ? file : fromHere;
  const { values, where } = readFileLayer(file, label);
  return { values, where: path => where(path) ?? label };
}

/**
 * Reads the address that was given for a channel or a calendar, and checks it as it is checked when a user adds it.
 * @throws {ConfigError} with file and line
 */
export function readAddress(
  addressed: Addressed,
  file: string | null,
  checkUrl: (url: string) => void,
): Record<string, unknown> {
  const { values, where } = readKeys(file);
  try {
    return allowedAddress(addressed, values, checkUrl);
  } catch (error) {
    if (!(error instanceof AppError) || error.issues === undefined) throw error;
    const problems = error.issues.map(({ loc, msg }) => {
      const path = loc.slice(2).map(String);
      return `${where(path)}: ${path.join('.')}: ${msg}`;
    });
    throw new ConfigError(problems);
  }
}
