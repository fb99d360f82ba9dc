import type { Advertised, Match } from '../driver.ts';
import type { Advertisement } from '../radio.ts';
import { plainUuid } from '../uuid.ts';

type Sighting = Pick<Advertisement, 'name' | 'serviceUuids' | 'manufacturerData'>;

/** Whether an advertisement matches what a driver looks for. */
export function matches({ advertised }: Match, sighting: Sighting): boolean {
  return advertised.some(rule => fits(rule, sighting));
}

function fits({ serviceUuid, name, namePrefix, manufacturer }: Advertised, sighting: Sighting): boolean {
  const own = sighting.name.toLowerCase();
  if (serviceUuid && !sighting.serviceUuids.some(uuid => plainUuid(uuid) === plainUuid(serviceUuid)))
    return false;
  if (name && own !== name.toLowerCase()) return false;
  if (namePrefix && !own.startsWith(namePrefix.toLowerCase())) return false;
  return !manufacturer || isOf(manufacturer, sighting.manufacturerData);
}

function isOf(
  { id, prefix = '' }: NonNullable<Advertised['manufacturer']>,
  data: Uint8Array | null,
): boolean {
  const wanted = Buffer.concat([
    Buffer.of(id & 0xff, id >> 8),
    Buffer.from(prefix.replaceAll(' ', ''), 'hex'),
  ]);
  return data !== null && wanted.equals(data.subarray(0, wanted.length));
}
