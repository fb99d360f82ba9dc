import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** Type of a field; `address` is a Bluetooth address, sent as a number. */
type Scalar = 'uint' | 'sint' | 'int' | 'bool' | 'bytes' | 'text' | 'address';

interface Values {
  uint: number;
  sint: number;
  int: number;
  bool: boolean;
  bytes: Uint8Array;
  text: string;
  address: string;
}

/** Fields of a message by name: number and type. Lists have a maximum length; a longer one is malformed. */
export type Shape = Readonly<Record<string, Field>>;
type Field =
  | readonly [number: number, kind: Scalar]
  | readonly [number: number, kind: 'numbers', limit: number]
  | readonly [number: number, kind: Shape, limit: number];

export type ValuesOf<S extends Shape> = { -readonly [Name in keyof S]: ValueOf<S[Name]> };
type ValueOf<F> = F extends readonly [number, infer Kind extends Scalar]
  ? Values[Kind]
  : F extends readonly [number, 'numbers', number]
    ? bigint[]
    : F extends readonly [number, infer Inner extends Shape, number]
      ? ValuesOf<Inner>[]
      : never;

const NO_ADDRESS = '00:00:00:00:00:00';
const EMPTY: Values = {
  uint: 0,
  sint: 0,
  int: 0,
  bool: false,
  bytes: new Uint8Array(),
  text: '',
  address: NO_ADDRESS,
};

const READ: { [Kind in Scalar]: (reader: BinaryReader) => Values[Kind] } = {
  uint: reader => reader.uint32(),
  sint: reader => reader.sint32(),
  int: reader => reader.int32(),
  bool: reader => reader.bool(),
  bytes: reader => reader.bytes(),
  text: reader => reader.string(),
  address: reader => addressOf(BigInt(reader.uint64())),
};

const WRITE: { [Kind in Scalar]: (writer: BinaryWriter, value: Values[Kind]) => void } = {
  uint: (writer, value) => writer.uint32(value),
  sint: (writer, value) => writer.sint32(value),
  int: (writer, value) => writer.int32(value),
  bool: (writer, value) => writer.bool(value),
  bytes: (writer, value) => writer.bytes(value),
  text: (writer, value) => writer.string(value),
  address: (writer, value) => writer.uint64(numberOf(value)),
};

/** Decodes a message. @throws Error if it is malformed */
export function decode<S extends Shape>(shape: S, bytes: Uint8Array): ValuesOf<S> {
  const entries = Object.entries(shape);
  const values: Record<string, unknown> = Object.fromEntries(
    entries.map(([name, [, kind]]) => [name, isScalar(kind) ? EMPTY[kind] : []]),
  );
  const names = new Map(entries.map(([name, field]) => [field[0], { name, field }]));
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const known = names.get(number);
    if (!known || !fits(known.field, type)) reader.skip(type, number);
    else values[known.name] = read(reader, type, known.field, values[known.name]);
  }
  return values as ValuesOf<S>; // each value was read by the type of its field
}

/** Encodes a message. Fields that are absent or have their default value are left out. */
export function encode<S extends Shape>(shape: S, values: Partial<ValuesOf<S>>): Uint8Array {
  const writer = new BinaryWriter();
  for (const [name, field] of Object.entries(shape)) write(writer, field, values[name]);
  return writer.finish();
}

function fits([, kind]: Field, type: WireType): boolean {
  if (kind === 'numbers') return type === WireType.Varint || type === WireType.LengthDelimited;
  const isLong = !isScalar(kind) || kind === 'bytes' || kind === 'text';
  return type === (isLong ? WireType.LengthDelimited : WireType.Varint);
}

function read(reader: BinaryReader, type: WireType, field: Field, before: unknown): unknown {
  const [, kind, limit = 0] = field;
  if (kind !== 'numbers' && isScalar(kind)) return READ[kind](reader);
  const list = before as unknown[]; // `decode` has initialised it
  const items =
    kind !== 'numbers'
      ? [decode(kind, reader.bytes())]
      : type === WireType.Varint
        ? [BigInt(reader.uint64())]
        : packed(reader.bytes(), limit);
  if (list.length + items.length > limit) throw new Error(`a list of more than ${limit}`);
  list.push(...items);
  return list;
}

function packed(bytes: Uint8Array, limit: number): bigint[] {
  const reader = new BinaryReader(bytes);
  const items: bigint[] = [];
  while (reader.pos < reader.len && items.length <= limit) items.push(BigInt(reader.uint64()));
  return items;
}

function write(writer: BinaryWriter, [number, kind]: Field, value: unknown): void {
  if (value === undefined) return;
  if (kind === 'numbers') {
    for (const item of value as bigint[]) writer.tag(number, WireType.Varint).uint64(item);
  } else if (!isScalar(kind)) {
    for (const item of value as ValuesOf<Shape>[])
      writer.tag(number, WireType.LengthDelimited).bytes(encode(kind, item));
  } else if (value !== EMPTY[kind]) {
    writer.tag(number, kind === 'bytes' || kind === 'text' ? WireType.LengthDelimited : WireType.Varint);
    (WRITE[kind] as (writer: BinaryWriter, value: unknown) => void)(writer, value);
  }
}

function isScalar(kind: Scalar | 'numbers' | Shape): kind is Scalar {
  return typeof kind === 'string' && kind !== 'numbers';
}

function addressOf(number: bigint): string {
  const hex = BigInt.asUintN(48, number).toString(16).padStart(12, '0');
  return hex.replace(/..(?=.)/g, '$&:');
}

function numberOf(address: string): bigint {
  return BigInt(`0x${address.replaceAll(':', '')}`);
}
