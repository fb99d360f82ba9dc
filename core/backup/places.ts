/** Places by what people call them: in the configuration, and on the command line. */
import { AppError } from '../runtime/errors.ts';
import { copiesOf } from './names.ts';
import type { Copy, Place } from './place.ts';
import { openProgram, type ProgramSettings } from './program.ts';
import { openBucket, type S3Settings } from './s3.ts';

export interface PlaceSettings extends ProgramSettings {
  /** Copies go there if it names a bucket. */
  s3: Pick<S3Settings, 'region' | 'prefix' | 'pathStyle'> & {
    [key in 'endpoint' | 'bucket' | 'accessKeyId' | 'secretAccessKey']?: string | undefined;
  };
}

const PREFIX = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w.-]+(?:\/[\w.-]+)*))?\/?$/;
const COMMAND = 'command:';

/** Opens the places that the daily backups are copied to. */
export function configuredPlaces(settings: PlaceSettings): Place[] {
  const { bucket } = settings.s3;
  const program = openProgram(settings);
  return [
    ...(bucket === undefined ? [] : [bucketOf(settings, bucket, settings.s3.prefix)]),
    ...(program ? [program] : []),
  ];
}

/** Is this the name of a place, and not of a directory or file of this machine? */
export function isPlace(at: string): boolean {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(at) || at.startsWith(COMMAND);
}

/**
 * The place that is called `s3://bucket/prefix` or `command:`, and the backup in it, where a name follows.
 * @throws AppError `invalid_input` where it is neither; `config_error` where the configuration lacks what it needs
 */
export function placeAt(at: string, settings: PlaceSettings): { place: Place; name: string | null } {
  if (at.startsWith(COMMAND)) {
    const place = openProgram(settings);
    if (!place) throw new AppError('config_error', `${at} needs backup.command in the configuration`);
    return { place, name: at.slice(COMMAND.length) || null };
  }
  const [, bucket, path = ''] = PREFIX.exec(at) ?? [];
  if (bucket === undefined)
    throw new AppError(
      'invalid_input',
      `${at} is not the address of a bucket, such as s3://my-backups/earshot, nor command:`,
    );
  const last = path.slice(path.lastIndexOf('/') + 1);
  if (copiesOf([{ name: last, bytes: null }]).length === 0)
    return { place: bucketOf(settings, bucket, path), name: null };
  return { place: bucketOf(settings, bucket, path.slice(0, -last.length).replace(/\/$/, '')), name: last };
}

function bucketOf({ s3 }: PlaceSettings, bucket: string, prefix: string): Place {
  const { endpoint, accessKeyId, secretAccessKey } = s3;
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    throw new AppError(
      'config_error',
      `s3://${bucket} needs backup.s3.endpoint, backup.s3.accessKeyId and backup.s3.secretAccessKey in the ` +
        'configuration or in the environment: EARSHOT_BACKUP__S3__ENDPOINT, …__ACCESS_KEY_ID, …__SECRET_ACCESS_KEY',
    );
  return openBucket({ ...s3, endpoint, accessKeyId, secretAccessKey, bucket, prefix });
}

/** How `restore` is told which copy to take. */
export function addressOf({ name: place }: Place, name: string): string {
  return place.startsWith(COMMAND) ? COMMAND + name : `${place}/${name}`;
}

/** @throws AppError `config_error` where the place cannot tell */
export async function listPlace({ name, list }: Place, signal: AbortSignal): Promise<Copy[]> {
  if (list) return list(signal);
  throw new AppError('config_error', `${name} cannot be listed: set backup.listCommand in the configuration`);
}
