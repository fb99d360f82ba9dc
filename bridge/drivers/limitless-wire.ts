import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
/** Loaded once there is such a pendant: most bridges never need it. */
const protobuf = (): typeof import('@bufbuild/protobuf/wire') => require('@bufbuild/protobuf/wire');

/** A field of a message of which no schema is public: its number, and what it holds. */
export interface Field {
  number: number;
  /** Null: it is no varint. */
  value: bigint | null;
  /** Null: it is neither a message nor bytes. */
  bytes: Uint8Array | null;
}

/** More than any message of the pendant has. */
const MAX_FIELDS = 4096;

/** Null: these bytes are no protobuf message. */
export function fieldsOf(message: Uint8Array): Field[] | null {
  const { BinaryReader, WireType } = protobuf();
  const reader = new BinaryReader(message);
  const fields: Field[] = [];
  try {
    while (reader.pos < reader.len) {
      const [number, type] = reader.tag();
      if (fields.length >= MAX_FIELDS) return null;
      if (type === WireType.Varint)
        fields.push({ number, value: BigInt.asUintN(64, BigInt(reader.uint64())), bytes: null });
      else if (type === WireType.LengthDelimited) fields.push({ number, value: null, bytes: reader.bytes() });
      else reader.skip(type, number);
    }
    return fields;
  } catch {
    return null;
  }
}

/** The bytes of the first field of this number. */
export function bytesOf(fields: readonly Field[] | null, number: number): Uint8Array | null {
  return fields?.find(field => field.number === number && field.bytes !== null)?.bytes ?? null;
}

/** The number in the first field of this number; null: there is none, or it is beyond 2^53. */
export function numberOf(fields: readonly Field[] | null, number: number): number | null {
  const found = fields?.find(field => field.number === number && field.value !== null)?.value ?? null;
  return found === null || found > BigInt(Number.MAX_SAFE_INTEGER) ? null : Number(found);
}

/** A message of varints and messages, in this order. */
export function messageOf(
  fields: readonly (readonly [number: number, value: number | Uint8Array])[],
): Uint8Array {
  const { BinaryWriter, WireType } = protobuf();
  const writer = new BinaryWriter();
  for (const [number, value] of fields)
    if (typeof value === 'number') writer.tag(number, WireType.Varint).uint64(value);
    else writer.tag(number, WireType.LengthDelimited).bytes(value);
  return writer.finish();
}

/** A part of a message, as it goes over the air. */
export function packetOf(index: number, part: number, parts: number, bytes: Uint8Array): Uint8Array {
  return messageOf([
    [1, index],
    [2, part],
    [3, parts],
    [4, bytes],
  ]);
}

const MAX_PARTS = 256;
const MAX_MESSAGE_BYTES = 64 * 1024;

/** Messages out of packets; one whose parts do not all come in their order is malformed. */
export function createAssembler(onMalformed: () => void): (packet: Uint8Array) => Uint8Array | null {
  let index = -1;
  let parts: Uint8Array[] = [];
  let wanted = 0;

  const drop = () => {
    if (parts.length > 0) onMalformed();
    parts = [];
  };
  return packet => {
    const fields = fieldsOf(packet);
    const bytes = bytesOf(fields, 4);
    const [number, part, count] = [1, 2, 3].map(each => numberOf(fields, each) ?? 0) as [
      number,
      number,
      number,
    ];
    if (!bytes || count < 1 || count > MAX_PARTS || part >= count) {
      onMalformed();
      return null;
    }
    if (part === 0) {
      drop();
      index = number;
      wanted = count;
    } else if (number !== index || part !== parts.length || count !== wanted) {
      drop();
      onMalformed();
      return null;
    }
    parts.push(bytes);
    if (parts.reduce((sum, { length }) => sum + length, 0) > MAX_MESSAGE_BYTES) drop();
    if (parts.length < wanted || parts.length === 0) return null;
    const message = Buffer.concat(parts);
    parts = [];
    return new Uint8Array(message);
  };
}
