import type { Driver, Session, Stream, WireFormat } from '../driver.ts';
import { fetchStored, STORAGE_WRITES } from './omi-storage.ts';
import { StorageError } from './omi-storage-wire.ts';

const omi = (number: string) => `19b1${number}-e8f2-537e-4f6c-d104768a1214`;
const AUDIO_SERVICE = omi('0000');
const CODEC = { service: AUDIO_SERVICE, characteristic: omi('0002') };
const PHOTO_CONTROL = { service: AUDIO_SERVICE, characteristic: omi('0006') };

const FEATURES = { service: omi('0020'), characteristic: omi('0021') };

/**
 * Codec ids of the firmware. Id 1 is named "PCM 8-bit" here and there, but the firmware that sends it packs 16-bit
 * samples at 8 kHz. Its frames have 80 or 160 samples; 80 is what the last builds send.
 */
const FORMATS: Readonly<Record<number, WireFormat>> = {
  0: { codec: 'pcm16', sampleRate: 16000, frameMs: 10 },
  1: { codec: 'pcm16', sampleRate: 8000, frameMs: 10 },
  10: { codec: 'mulaw', sampleRate: 16000, frameMs: 10 },
  11: { codec: 'mulaw', sampleRate: 8000, frameMs: 10 },
  20: { codec: 'opus', sampleRate: 16000, frameMs: 10 },
  21: { codec: 'opus_fs320', sampleRate: 16000, frameMs: 20 },
};

/** An audio notification is [u16 packet number, counted on for every notification][u8 fragment within the frame][payload]. */
export const OMI_STREAM: Stream = {
  audio: { service: AUDIO_SERVICE, characteristic: omi('0001') },
  format: { from: CODEC, values: FORMATS },
  framing: {
    kind: 'counted',
    header: 3,
    counter: { at: 0, bits: 16, per: 'packet' },
    fragment: { at: 2 },
  },
  minMtu: 100,
  battery: { service: '180f', characteristic: '2a19' },
  // Without a clock the pendant records nothing while it is out of reach.
  time: { service: omi('0030'), characteristic: omi('0031'), unit: 's', bytes: 4 },
  buttons: [
    {
      service: '23ba7924-0000-1000-7450-346eac492e92',
      characteristic: '23ba7925-0000-1000-7450-346eac492e92',
      type: 'i32le',
      map: { 1: 'single', 2: 'double', 3: 'long', 4: 'press', 5: 'release', 6: 'triple' },
    },
  ],
};

/** Omi and Friend pendants (DevKit 1 and 2, CV1) and everything that speaks their protocol. */
export default {
  api: 1,
  name: 'omi',
  title: 'Omi and Friend pendants, and compatible ones',
  inferred: [
    'Any Opus frame fits one notification at an ATT MTU of 166 or more.',
    'Stored audio without a time was recorded until just before it was fetched.',
    'A pendant whose feature mask cannot be read has the features that its services show.',
    'Each of several stored files is read like a single one: from an offset to its end.',
  ],
  match: {
    advertised: [{ serviceUuid: AUDIO_SERVICE }],
    // The service's UUID is that of a well-known sample program, so the codec characteristic must be there as well.
    confirm: [CODEC, { ...PHOTO_CONTROL, absent: true }],
  },
  writes: [STORAGE_WRITES],
  controls: [
    {
      service: omi('0010'),
      characteristic: omi('0011'),
      name: 'led',
      title: 'brightness of the light, percent',
      kind: 'setting',
      values: { min: 0, max: 100 },
      feature: { ...FEATURES, bit: 7 },
    },
    {
      service: omi('0010'),
      characteristic: omi('0012'),
      name: 'microphone-gain',
      title: 'gain of the microphone',
      kind: 'setting',
      values: { min: 0, max: 8 },
      feature: { ...FEATURES, bit: 8 },
    },
    {
      service: 'cab1ab95-2ea5-4f4d-bb56-874b72cfc984',
      characteristic: 'cab1ab96-2ea5-4f4d-bb56-874b72cfc984',
      name: 'vibrate',
      title: 'vibration, to find it',
      kind: 'action',
      values: { short: 1, medium: 2, long: 3 },
      feature: { ...FEATURES, bit: 5 },
    },
  ],
  stream: OMI_STREAM,
  async run(session) {
    await Promise.all([session.listen(OMI_STREAM), fetchUntilDone(session)]);
  },
} satisfies Driver;

/** After a download that failed. */
const RETRY_MS = 60_000;
const OPUS_10_MS = 20;

/** Fetches audio that the pendant recorded out of reach, while it streams live. */
async function fetchUntilDone(session: Session): Promise<void> {
  const { link, log, clock, signal } = session;
  const [codec] = (await link.read(CODEC, { optional: true })) ?? [];
  // It stores Opus, whatever it streams.
  const format: WireFormat =
    codec === OPUS_10_MS
      ? { codec: 'opus', sampleRate: 16000, frameMs: 10 }
      : { codec: 'opus_fs320', sampleRate: 16000, frameMs: 20 };
  while (!signal.aborted) {
    try {
      return await fetchStored(session, format);
    } catch (error) {
      if (!(error instanceof StorageError) || signal.aborted) throw error;
      log.warn({ retryInMs: RETRY_MS, reason: error.message }, 'stored audio could not be fetched');
      await clock.sleep(RETRY_MS);
    }
  }
}
