import { z } from 'zod';
import type { Driver, PacketDecoder, Ref, WireFormat } from '../driver.ts';
import { callable, isTable, Name, Place, problems, Uuid, WITH_REASON } from './driver-schema.ts';

/** A driver from before the contract had versions: one audio characteristic, one for the codec, and a decoder. */
interface DecoderDriver {
  name: string;
  title: string;
  source?: string;
  match: { serviceUuids?: string[]; namePrefixes?: string[]; confirm: Ref };
  audio: Ref & { codec: Ref & { values: Readonly<Record<number, WireFormat>> }; minMtu: number };
  battery?: Ref;
  createDecoder(format: WireFormat, link: { mtu: number }): PacketDecoder;
}

const WireFormatOfOld = z.object({
  codec: z.string().min(1),
  sampleRate: z.number().int().positive(),
  frameMs: z.number().positive(),
});

const AnyDecoderDriver = z.object({
  name: Name,
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
      values: z
        .record(z.string(), WireFormatOfOld)
        .refine(isTable, 'must have at least one entry: a number and its format'),
    }),
    minMtu: z.number().int().nonnegative(),
  }),
  battery: Place.optional(),
  createDecoder: callable<DecoderDriver['createDecoder']>(),
});

/** @throws the result of `refuse` for invalid fields */
export function checkDecoderDriver(value: unknown, refuse: (problem: string) => Error): Driver {
  const checked = AnyDecoderDriver.safeParse(value, WITH_REASON);
  if (!checked.success) throw refuse(problems(checked.error));
  return asVersion1(value as DecoderDriver); // as it was checked
}

/** Converts it to version 1. */
function asVersion1(driver: DecoderDriver): Driver {
  const { name, title, source, match, audio, battery } = driver;
  const { serviceUuids = [], namePrefixes = [] } = match;
  const { service, characteristic, codec, minMtu } = audio;
  return {
    api: 1,
    name,
    title,
    ...(source ? { source } : {}),
    match: {
      advertised: [
        ...serviceUuids.map(serviceUuid => ({ serviceUuid })),
        ...namePrefixes.map(namePrefix => ({ namePrefix })),
      ],
      confirm: [match.confirm],
    },
    stream: {
      audio: { service, characteristic },
      format: {
        from: { service: codec.service, characteristic: codec.characteristic },
        values: codec.values,
      },
      minMtu,
      ...(battery ? { battery } : {}),
    },
    createDecoder: (format, link) => driver.createDecoder(format, link),
  };
}
