import { z } from 'zod';
import type { Driver } from '../driver.ts';

export const Uuid = z
  .string()
  .regex(
    /^(?:[0-9a-f]{4}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32})$/i,
    'must be a UUID, as 180f or 19b10000-e8f2-537e-4f6c-d104768a1214',
  );
const place = { service: Uuid, characteristic: Uuid };
export const Place = z.object(place);
const StrictPlace = z.strictObject(place);
export const callable = <T>() => z.custom<T>(value => typeof value === 'function', 'must be a function');

export const Name = z
  .string()
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be lower case, with dashes, as garage-pendant');

/** Reports absent fields as missing. */
export const WITH_REASON: z.core.ParseContext<z.core.$ZodIssue> = {
  error(issue) {
    if (issue.input === undefined) return 'is missing';
    if (issue.code === 'unrecognized_keys') return `there is no field ${issue.keys.join(', ')}`;
    if (issue.code === 'invalid_union' && Array.isArray(issue.options))
      return `must be one of ${issue.options.join(', ')}`;
    return undefined;
  },
};

/** Whether the keys are the bytes that name codecs. */
export function isTable(values: Record<string, unknown>): boolean {
  const ids = Object.keys(values);
  return ids.length > 0 && ids.every(id => /^\d{1,3}$/.test(id) && Number(id) <= 255);
}

/** A union of two objects that are distinguished by a field, so that errors refer to the right one. */
function either(field: string, withIt: z.ZodType, without: z.ZodType) {
  return z.unknown().superRefine((value, context) => {
    const hasIt = typeof value === 'object' && value !== null && field in value;
    const checked = (hasIt ? withIt : without).safeParse(value, WITH_REASON);
    for (const { message, path } of checked.error?.issues ?? [])
      context.addIssue({ code: 'custom', message, path: [...path] });
  });
}

const MAX_BYTES = 4096;
const byte = z.number().int().min(0).max(255);
const offset = z.number().int().min(0).max(MAX_BYTES);
const size = z.number().int().min(1).max(MAX_BYTES);
const hex = z
  .string('must be bytes in hex, in quotes: "01 a0"')
  .regex(/^(?:\s*[0-9a-f]{2})*\s*$/i, 'must be bytes in hex: "01 a0"')
  .max(1024);
const endian = z.enum(['le', 'be']);
const property = z.enum(['read', 'write', 'writeWithoutResponse', 'notify', 'indicate']);
const ms = z.number().int().min(0).max(3_600_000);

const Advertised = z
  .strictObject({
    serviceUuid: Uuid.optional(),
    name: z.string().min(1).optional(),
    namePrefix: z.string().min(1).optional(),
    manufacturer: z
      .strictObject({ id: z.number().int().min(0).max(0xffff), prefix: hex.optional() })
      .optional(),
  })
  .refine(rule => Object.values(rule).some(value => value !== undefined), 'would match everything');

const Match = z.strictObject({
  advertised: z.array(Advertised).min(1, 'must have an entry, or it would match nothing'),
  confirm: z.array(
    z.strictObject({
      ...place,
      properties: z.array(property).optional(),
      absent: z.literal(true).optional(),
    }),
  ),
  rank: z.number().optional(),
});

const CODECS = ['pcm16', 'pcm8', 'mulaw', 'ima-adpcm', 'opus', 'opus_fs320', 'aac', 'lc3_fs1030'] as const;

const WireFormat = z.strictObject({
  codec: z.enum(CODECS, `must be one of ${CODECS.join(', ')}`),
  sampleRate: z.number().int().min(4000).max(96_000),
  frameMs: z.number().positive().max(1000),
  adpcm: z
    .strictObject({
      state: z.enum(['kept', 'in-frame']).optional(),
      nibbles: z.enum(['low-first', 'high-first']).optional(),
    })
    .optional(),
});

const Field = z.strictObject({
  at: offset,
  mask: byte.optional(),
  shift: z.number().int().min(0).max(7).optional(),
});
const everyFraming = {
  header: offset.optional(),
  trailer: offset.optional(),
  first: z.array(byte).min(1).optional(),
};
const Framing = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('counted'),
    counter: z.strictObject({
      at: offset,
      bits: z.union([z.literal(4), z.literal(8), z.literal(16), z.literal(32)]),
      shift: z.number().int().min(0).max(7).optional(),
      endian: endian.optional(),
      per: z.enum(['packet', 'frame']),
    }),
    fragment: Field.optional(),
    fragments: Field.optional(),
    frameBytes: size.optional(),
    ...everyFraming,
  }),
  z.strictObject({
    kind: z.literal('fixed'),
    frameBytes: size,
    across: z.boolean().optional(),
    ...everyFraming,
  }),
  z.strictObject({
    kind: z.literal('length-prefixed'),
    bytes: z.union([z.literal(1), z.literal(2)]),
    endian: endian.optional(),
    ...everyFraming,
  }),
  z.strictObject({ kind: z.literal('adts'), ...everyFraming }),
  z.strictObject({ kind: z.literal('raw'), frameBytes: size, ...everyFraming }),
]);

const WriteStep = z.strictObject({
  write: StrictPlace,
  hex,
  response: z.boolean().optional(),
  optional: z.boolean().optional(),
});
const Steps = z.array(either('waitMs', z.strictObject({ waitMs: ms }), WriteStep)).max(32);

const Stream = z.strictObject({
  audio: StrictPlace,
  format: either(
    'from',
    z.strictObject({
      from: StrictPlace,
      at: offset.optional(),
      values: z
        .record(z.string(), WireFormat)
        .refine(isTable, 'must have at least one entry: a number and its format'),
    }),
    WireFormat,
  ),
  framing: Framing.optional(),
  minMtu: z.number().int().min(0).max(517).optional(),
  start: Steps.optional(),
  stop: Steps.optional(),
  keepAlive: z.strictObject({ everyMs: ms.min(100), step: WriteStep }).optional(),
  battery: z.strictObject({ ...place, at: offset.optional() }).optional(),
  time: z
    .strictObject({
      ...place,
      unit: z.enum(['s', 'ms']),
      bytes: z.union([z.literal(4), z.literal(8)]),
      endian: endian.optional(),
    })
    .optional(),
  buttons: z
    .array(
      z.strictObject({
        ...place,
        at: offset.optional(),
        type: z.enum(['u8', 'i32le']),
        map: z.record(z.string(), z.enum(['single', 'double', 'triple', 'long', 'press', 'release'])),
      }),
    )
    .optional(),
});

const Range = z
  .strictObject({ min: byte, max: byte })
  .refine(({ min, max }) => min < max, 'min must be below max');
const Named = z
  .record(Name, byte)
  .refine(values => Object.keys(values).length > 0, 'must name at least one value');
const Controls = z
  .array(
    z.strictObject({
      ...place,
      name: Name,
      title: z.string().min(1).max(100),
      kind: z.enum(['setting', 'action']),
      values: either('min', Range, Named),
      feature: z.strictObject({ ...place, bit: z.number().int().min(0).max(255) }).optional(),
    }),
  )
  .max(32)
  .refine(all => new Set(all.map(({ name }) => name)).size === all.length, 'two have the same name');

/** Maximum reported fields: more of them indicate a damaged file, not a typing error. */
const MAX_PROBLEMS = 50;

/** Lists the invalid fields on one line. */
export function problems(error: z.ZodError): string {
  return problemsIn(error).join('; ');
}

/** The same for a file: several invalid fields are on lines of their own. */
export function problemsInLines(error: z.ZodError): string {
  const all = problemsIn(error);
  return all.length === 1 ? ` ${all[0]}` : all.map(line => `\n  ${line}`).join('');
}

function problemsIn({ issues }: z.ZodError): string[] {
  const told = issues
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => `${path.length > 0 ? `${path.join('.')}: ` : ''}${message}`);
  const more = issues.length - told.length;
  return [...told, ...(more > 0 ? [`and ${more} more`] : [])];
}

/** A driver of version 1. Unknown fields are refused: most are typing errors. */
export const AnyDriver = z
  .strictObject({
    api: z.literal(1, 'must be 1'),
    name: Name,
    title: z.string().min(1),
    source: z.string().min(1).optional(),
    inferred: z.array(z.string().min(1).max(500)).max(20).optional(),
    match: Match,
    writes: z
      .array(
        z.strictObject({
          ...place,
          first: z.array(byte).optional(),
          releases: callable<(bytes: Uint8Array) => boolean>().optional(),
        }),
      )
      .optional(),
    controls: Controls.optional(),
    needs: z.strictObject({ bonding: z.literal('required').optional() }).optional(),
    stream: Stream.optional(),
    createDecoder: callable<NonNullable<Driver['createDecoder']>>().optional(),
    run: callable<NonNullable<Driver['run']>>().optional(),
  })
  .refine(({ stream, run }) => stream || run, 'needs stream or run, or it would hear nothing')
  .refine(
    ({ stream, createDecoder }) => !stream || stream.framing || createDecoder,
    'stream.framing: is missing',
  );
