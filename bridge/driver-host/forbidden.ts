import type { Ref } from '../driver.ts';
import { plainUuid } from '../uuid.ts';

interface Forbidden {
  what: string;
  /** Matches by service, by characteristic, or by a characteristic within one service. */
  service?: string;
  characteristic?: string;
  /** Applies only to devices that have this, too. */
  besides?: Ref;
}

const omi = (number: string) => `19b1${number}-e8f2-537e-4f6c-d104768a1214`;
const GLASS = { service: omi('0000'), characteristic: omi('0006') };

/** Characteristics that no driver may write: they would restart a device into its update mode, or wipe it. */
const FORBIDDEN: readonly Forbidden[] = [
  { what: 'a firmware update (Nordic DFU)', service: '00001530-1212-efde-1523-785feabcd123' },
  { what: 'a firmware update (Nordic DFU)', characteristic: '00001531-1212-efde-1523-785feabcd123' },
  { what: 'a firmware update (Nordic DFU)', characteristic: '00001532-1212-efde-1523-785feabcd123' },
  { what: 'a firmware update (Nordic secure DFU)', service: 'fe59' },
  ...['0001', '0002', '0003', '0004'].map(number => ({
    what: 'a firmware update (Nordic secure DFU)',
    characteristic: `8ec9${number}-f315-4f60-9fb8-838830daea50`,
  })),
  { what: 'a firmware update (MCUmgr)', service: '8d53dc1d-1db7-4cd3-868b-8a527460aa84' },
  { what: 'a firmware update (MCUmgr)', characteristic: 'da2e7828-fbce-4e01-ae9e-261174997c48' },
  // Its meaning changes from build to build: diagnostics, a keyboard, or un-bonding that wipes the device.
  { what: 'un-bonding that may wipe the device', service: omi('0040') },
  // A name, or in other builds one byte that switches the device off.
  { what: 'a name that other firmware takes for a command', characteristic: omi('0014') },
  { what: 'a firmware update of glasses', service: omi('0010'), besides: GLASS },
];

/** Returns the harm of writing there; null: it is not forbidden on every device. */
export function alwaysForbidden(ref: Ref): string | null {
  return find(ref, ({ besides }) => besides === undefined)?.what ?? null;
}

/** The same for a device that is connected. @param has whether the device has a characteristic */
export async function forbiddenHere(ref: Ref, has: (ref: Ref) => Promise<boolean>): Promise<string | null> {
  const always = alwaysForbidden(ref);
  const here = find(ref, ({ besides }) => besides !== undefined);
  if (always || !here?.besides) return always;
  return (await has(here.besides)) ? here.what : null;
}

function find(ref: Ref, which: (row: Forbidden) => boolean): Forbidden | undefined {
  return FORBIDDEN.find(row => {
    const isOfService = !row.service || plainUuid(row.service) === plainUuid(ref.service);
    const isOfUuid = !row.characteristic || plainUuid(row.characteristic) === plainUuid(ref.characteristic);
    return isOfService && isOfUuid && which(row);
  });
}

export function sameRef(a: Ref, b: Ref): boolean {
  return (
    plainUuid(a.service) === plainUuid(b.service) &&
    plainUuid(a.characteristic) === plainUuid(b.characteristic)
  );
}
