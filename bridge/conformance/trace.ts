import { z } from 'zod';
import type { Ref } from '../driver.ts';
import { problems, WITH_REASON } from '../driver-host/driver-schema.ts';
import { plainUuid } from '../uuid.ts';

const hex = z.string().regex(/^(?:[0-9a-f]{2})*$/i, 'must be bytes in hex');
/** `service/characteristic` */
const place = z.string().regex(/^[0-9a-f-]{4,36}\/[0-9a-f-]{4,36}$/i, 'must be service/characteristic');
const t = z.number().min(0);

const Header = z.object({
  device: z.string(),
  /** Origin of the bytes: recorded from a device, or made by a program after a source. */
  origin: z.string().min(1),
  mtu: z.number().int().min(23).max(517),
  /** Properties of each characteristic of the device. */
  characteristics: z.record(place, z.array(z.string())),
});
const Event = z.union([
  z.strictObject({ t, read: place, value: hex }),
  z.strictObject({ t, notify: place, value: hex }),
  z.strictObject({ t, write: place, value: hex }),
]);
const Expectation = z.strictObject({
  expect: z.strictObject({
    /** Frames of live audio, and of what the device had stored. */
    frames: z.number().int().min(0),
    stored: z.number().int().min(0).default(0),
    lost: z.number().min(0).default(0),
    /** Absent: none. */
    photos: z.number().int().min(0).optional(),
    /** SHA-256 over all frames, each after its length as 32 bits, little-endian; live ones first. */
    sha256: z.string().optional(),
  }),
});

export type TraceHeader = z.infer<typeof Header>;
export type TraceEvent = z.infer<typeof Event>;
export type TraceExpectation = z.infer<typeof Expectation>['expect'];

/**
 * Traffic of one connection: one JSON object per line; the first describes the device, the last the expected result.
 */
export interface Trace extends TraceHeader {
  events: TraceEvent[];
  expect: TraceExpectation | null;
}

const Line = z.union([Event, Expectation]);

/** @throws Error that names the line */
export function parseTrace(text: string): Trace {
  const lines = text.split('\n').filter(line => line.trim() !== '');
  const values = lines.map((line, index) => parsed(line, index + 1));
  const header = checked(Header, values[0], 1);
  const events: TraceEvent[] = [];
  let expect: TraceExpectation | null = null;
  for (const [index, value] of values.slice(1).entries()) {
    const line = checked(Line, value, index + 2);
    if ('expect' in line) expect = line.expect;
    else events.push(line);
  }
  return { ...header, events, expect };
}

export function writeTrace({ events, expect, ...header }: Trace): string {
  const lines: object[] = [header, ...events, ...(expect ? [{ expect }] : [])];
  return `${lines.map(line => JSON.stringify(line)).join('\n')}\n`;
}

function parsed(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`line ${number} is no JSON`);
  }
}

function checked<T>(schema: z.ZodType<T>, value: unknown, number: number): T {
  const result = schema.safeParse(value, WITH_REASON);
  if (result.success) return result.data;
  throw new Error(`line ${number}: ${problems(result.error)}`);
}

/** How a characteristic is compared: UUIDs are written in several ways. */
export function placeOf({ service, characteristic }: Ref): string {
  return `${plainUuid(service)}/${plainUuid(characteristic)}`;
}

export function plainPlace(text: string): string {
  const [service = '', characteristic = ''] = text.split('/');
  return placeOf({ service, characteristic });
}
