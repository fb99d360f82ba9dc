import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../runtime/errors.ts';
import { listPlace, type PlaceSettings, placeAt } from './places.ts';

/**
 * Takes a backup from `s3://bucket/prefix/NAME` or `command:NAME` into a file, which must not be there; the newest
 * one, where no name is given.
 * @returns its name
 */
export async function fetchBackup(
  from: string,
  file: string,
  settings: PlaceSettings,
  signal: AbortSignal,
): Promise<string> {
  const { place, name } = placeAt(from, settings);
  if (!place.read)
    throw new AppError(
      'config_error',
      `${place.name} cannot be read: set backup.readCommand in the configuration`,
    );
  const chosen = name ?? (await listPlace(place, signal))[0]?.name;
  if (chosen === undefined) throw new AppError('not_found', `There is no backup in ${place.name}`);
  await mkdir(dirname(file), { recursive: true });
  try {
    const source = await place.read(chosen, signal);
    await pipeline(source, createWriteStream(file, { flags: 'wx', mode: 0o600 }), { signal });
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
  return chosen;
}
