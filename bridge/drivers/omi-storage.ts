/** Fetches audio that an Omi pendant recorded out of reach. Its firmware decides how that is stored. */
import type { Ref, Session, WireFormat, Writable } from '../driver.ts';
import { fetchFiles, fetchSingleFile } from './omi-storage-files.ts';
import { fetchRing } from './omi-storage-ring.ts';
import { BLOCK_BYTES, COMMAND, openStorage, STORAGE_DATA, STORAGE_SERVICE } from './omi-storage-wire.ts';

const STATUS: Ref = { service: STORAGE_SERVICE, characteristic: '30295782-4301-eabd-2904-2849adfeae43' };
const FIRMWARE: Ref = { service: '180a', characteristic: '2a26' };

/** Commands after which the pendant may overwrite audio. */
const RELEASES: readonly number[] = [COMMAND.deleteFile, COMMAND.advance, COMMAND.advanceOfRing];

/** Characteristics that are written to fetch stored audio. */
export const STORAGE_WRITES: Writable = {
  ...STORAGE_DATA,
  first: Object.values(COMMAND),
  releases: bytes => RELEASES.includes(bytes[0] ?? -1),
};

/** Time for live audio to start first. */
const SETTLE_MS = 2000;
/** First firmware that stores several files, and first that has a ring. */
const FIRST_WITH_FILES = [3, 0, 16];
const FIRST_WITH_RING = [3, 0, 20];
const RING_STATUS_BYTES = 16;
const FREE_AT = 8;

/**
 * Fetches all of it, and removes it from the pendant once it is on disk here.
 * @param format of its encoder
 * @throws StorageError when it fails, and may be retried on the same connection
 */
export async function fetchStored(session: Session, format: WireFormat): Promise<void> {
  const { link, clock, sink } = session;
  await clock.sleep(SETTLE_MS);
  if ((await link.properties(STORAGE_DATA)).size === 0) return;
  const status = await link.read(STATUS, { optional: true });
  const firmware = await firmwareOf(session);
  sink.about({ firmware: firmware?.text ?? null, storageFreeBytes: freeBytesOf(status) });
  if (!status || status.length < 8) return;
  const data = await openStorage(session);
  if (!data) return;
  const kind = kindOf(status, firmware?.numbers);
  if (kind === 'ring') await fetchRing(session, data, format);
  else if (kind === 'files') await fetchFiles(session, data, format);
  else await fetchSingleFile(session, data, { format, status });
}

/** Null: the firmware has no ring, and does not report it. */
function freeBytesOf(status: Uint8Array | undefined): number | null {
  if (!status || status.length < RING_STATUS_BYTES) return null;
  return Buffer.from(status).readUInt32LE(FREE_AT);
}

async function firmwareOf({ link }: Session): Promise<{ text: string; numbers: number[] } | null> {
  const bytes = await link.read(FIRMWARE, { optional: true });
  if (!bytes) return null;
  const text = Buffer.from(bytes)
    .toString('utf8')
    .replaceAll(/[^ -~]/g, '')
    .slice(0, 32);
  return { text, numbers: (text.match(/\d{1,4}/g) ?? []).slice(0, 3).map(Number) };
}

function isFrom(numbers: readonly number[] | undefined, first: readonly number[]): boolean {
  if (!numbers || numbers.length < 3) return false;
  const at = first.findIndex((number, index) => number !== numbers[index]);
  return at < 0 || (numbers[at] ?? 0) > (first[at] ?? 0);
}

/**
 * Decides how audio is stored. Inferred where the firmware's version is unknown: the second number of the status is an
 * offset, a multiple of a block, or a number of files, which mostly is not.
 */
function kindOf(status: Uint8Array, numbers: readonly number[] | undefined): 'ring' | 'files' | 'single' {
  if (status.length >= RING_STATUS_BYTES || isFrom(numbers, FIRST_WITH_RING)) return 'ring';
  if (numbers && numbers.length >= 3) return isFrom(numbers, FIRST_WITH_FILES) ? 'files' : 'single';
  const second = Buffer.from(status).readUInt32LE(4);
  return second <= 1000 && second % BLOCK_BYTES !== 0 ? 'files' : 'single';
}
