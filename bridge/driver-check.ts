import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Decoded, Driver, PacketDecoder } from './driver.ts';

const Uuid = z
  .string()
  .regex(
    /^(?:[0-9a-f]{4}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32})$/i,
    'must be a UUID, as 180f or 19b10000-e8f2-537e-4f6c-d104768a1214',
  );
const Place = z.object({ service: Uuid, characteristic: Uuid });
const callable = <T>() => z.custom<T>(value => typeof value === 'function', 'must be a function');

/** Of the codecs that a byte can name. */
function isTable(values: Record<string, unknown>): boolean {
  const ids = Object.keys(values);
  return ids.length > 0 && ids.every(id => /^\d{1,3}$/.test(id) && Number(id) <= 255);
}

const WireFormat = z.object({
  codec: z.string().min(1),
  sampleRate: z.number().int().positive(),
  frameMs: z.number().positive(),
});

const AnyDriver = z.object({
  name: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be lower case, with dashes, as garage-pendant'),
  title: z.string().min(1),
  source: z.string().min(1).optional(),
  match: z
    .object({
      serviceUuids: z.array(Uuid).optional(),
      namePrefixes: z.array(z.string().min(1)).optional(),
      confirm: Place,
    })
    .refine(
      ({ serviceUuids = [], namePrefixes = [] }) => serviceUuids.length + namePrefixes.length > 0,
      'needs serviceUuids or namePrefixes, or it would match nothing',
    ),
  audio: Place.extend({
    codec: Place.extend({
      values: z.record(z.string(), WireFormat).refine(isTable, 'must give at least one number a format'),
    }),
    minMtu: z.number().int().nonnegative(),
  }),
  battery: Place.optional(),
  createDecoder: callable<Driver['createDecoder']>(),
});

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

/** What is not there is said to be missing. */
const WITH_REASON: z.core.ParseContext<z.core.$ZodIssue> = {
  error: ({ input }) => (input === undefined ? 'is missing' : undefined),
};

/**
 * Loads the drivers that somebody else wrote.
 * @param dir against which paths are resolved
 * @throws Error that names the file, and each field that is wrong
 */
export async function loadDrivers(paths: string[], dir: string): Promise<Driver[]> {
  return Promise.all(paths.map(path => loadDriver(path, isAbsolute(path) ? path : join(dir, path))));
}

async function loadDriver(path: string, file: string): Promise<Driver> {
  if (!existsSync(file)) throw new Error(`bridge.drivers: ${path}: there is no such file`);
  const module: { default?: unknown } = await import(pathToFileURL(file).href).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : error;
    throw new Error(`bridge.drivers: ${path} does not load: ${reason}`);
  });
  if (module.default === undefined)
    throw new Error(`bridge.drivers: ${path} is not a driver: it has no default export`);
  const checked = AnyDriver.safeParse(module.default, WITH_REASON);
  if (!checked.success)
    throw new Error(`bridge.drivers: ${path} is not a driver: ${problems(checked.error)}`);
  return module.default as Driver; // as it was checked; a copy would lose the methods of a class
}

/** @throws Error with each field that is wrong */
export function checkDecoder(decoder: unknown): PacketDecoder {
  const checked = AnyDecoder.safeParse(decoder, WITH_REASON);
  if (!checked.success)
    throw new Error(`what createDecoder returned is no decoder: ${problems(checked.error)}`);
  return decoder as PacketDecoder;
}

/** @throws Error with each field that is wrong */
export function checkDecoded(decoded: unknown): Decoded {
  const checked = AnyDecoded.safeParse(decoded, WITH_REASON);
  if (!checked.success) throw new Error(`what its decoder returned is wrong: ${problems(checked.error)}`);
  return decoded as Decoded;
}

const MAX_PROBLEMS = 5;

function problems({ issues }: z.ZodError): string {
  const told = issues
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => `${path.length > 0 ? `${path.join('.')}: ` : ''}${message}`);
  const more = issues.length - told.length;
  return [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
