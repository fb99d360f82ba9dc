import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Decoded, Driver, PacketDecoder } from '../driver.ts';
import { checkDecoderDriver } from './decoder-driver.ts';
import { AnyDriver, callable, problems, problemsInLines, WITH_REASON } from './driver-schema.ts';
import { alwaysForbidden } from './forbidden.ts';
import { declaredWrites } from './writes.ts';

const count = z.number().int().nonnegative();
const AnyDecoder = z.object({
  push: callable<PacketDecoder['push']>(),
  flush: callable<PacketDecoder['flush']>(),
  counts: z.object({
    packets: count,
    frames: count,
    lost: count,
    duplicates: count,
    malformed: count,
    resets: count,
  }),
});
const AnyDecoded = z.object({
  frames: z.array(z.object({ bytes: z.instanceof(Uint8Array), lostBefore: count })),
});

/**
 * Loads third-party drivers: modules, and YAML files.
 * @param dir base of relative paths
 * @throws Error that names the file, and each invalid field
 */
export async function loadDrivers(paths: string[], dir: string): Promise<Driver[]> {
  return Promise.all(
    paths.map(path => loadDriver(`bridge.drivers: ${path}`, isAbsolute(path) ? path : join(dir, path))),
  );
}

/** Default rank of a driver that the configuration names. */
const RANK_OF_USERS = 100;

/** Drivers in the order in which they are tried. */
export function inOrder(users: readonly Driver[], builtIn: readonly Driver[]): Driver[] {
  const ranked = [
    ...users.map(driver => ({ driver, rank: driver.match.rank ?? RANK_OF_USERS })),
    ...builtIn.map(driver => ({ driver, rank: driver.match.rank ?? 0 })),
  ];
  return ranked.sort((a, b) => b.rank - a.rank).map(({ driver }) => driver);
}

/** @param where name of the file in errors */
export async function loadDriver(where: string, file: string): Promise<Driver> {
  if (!existsSync(file)) throw new Error(`${where}: there is no such file`);
  const isYaml = /\.ya?ml$/i.test(file);
  const value = isYaml ? await readYaml(where, file) : await importModule(where, file);
  return checkDriver(where, value, isYaml);
}

async function readYaml(where: string, file: string): Promise<unknown> {
  try {
    return parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new Error(`${where} does not load: ${firstLine(error)}`);
  }
}

async function importModule(where: string, file: string): Promise<unknown> {
  const module: { default?: unknown } = await import(pathToFileURL(file).href).catch((error: unknown) => {
    throw new Error(`${where} does not load: ${error instanceof Error ? error.message : error}`);
  });
  if (module.default === undefined) throw new Error(`${where} is not a driver: it has no default export`);
  return module.default;
}

/** @throws Error with each invalid field */
export function checkDriver(where: string, value: unknown, isYaml = false): Driver {
  const isOld = typeof value === 'object' && value !== null && !('api' in value) && !isYaml;
  if (isOld) return checkDecoderDriver(value, problem => new Error(`${where} is not a driver: ${problem}`));
  const checked = AnyDriver.safeParse(value, WITH_REASON);
  if (!checked.success) throw new Error(`${where} is not a driver:${problemsInLines(checked.error)}`);
  const driver = value as Driver; // as it was checked; a copy would lose the methods of a class
  for (const ref of declaredWrites(driver)) {
    const forbidden = alwaysForbidden(ref);
    if (forbidden)
      throw new Error(
        `${where} is not a driver: it would write to ${ref.characteristic}, which is ${forbidden}`,
      );
  }
  return driver;
}

/** @throws Error with each invalid field */
export function checkDecoder(decoder: unknown): PacketDecoder {
  const checked = AnyDecoder.safeParse(decoder, WITH_REASON);
  if (!checked.success) throw new Error(`createDecoder did not return a decoder: ${problems(checked.error)}`);
  return decoder as PacketDecoder;
}

/** @throws Error with each invalid field */
export function checkDecoded(decoded: unknown): Decoded {
  const checked = AnyDecoded.safeParse(decoded, WITH_REASON);
  if (!checked.success) throw new Error(`its decoder returned something invalid: ${problems(checked.error)}`);
  return decoded as Decoded;
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
