/** Ogg files with Opus, as browsers play them. */
import { Encoder } from '@evan/opus/wasm/index.mjs';
import { SAMPLE_RATE } from '../../audio/pcm.ts';
import { AppError } from '../../runtime/errors.ts';
import { createPace } from '../../runtime/pace.ts';

const FRAME_SAMPLES = SAMPLE_RATE / 50;
const FRAME_S = FRAME_SAMPLES / SAMPLE_RATE;
/** Bit rate, sufficient for speech at 16 kHz: 3 kB/s. */
const BITS_PER_S = 24_000;
/** Complexity of the encoder, 0 to 10: half the processor time of the usual 9, with the same quality for speech. */
const COMPLEXITY = 5;
/** Requests to the encoder: numbers from opus_defines.h. */
const SET_BITRATE = 4002;
const SET_COMPLEXITY = 4010;
const GET_LOOKAHEAD = 4027;
/** Sample rate in which Ogg counts positions of Opus, independent of the input. */
const OGG_RATE = 48_000;

/** @throws `config_error` where the optional package that writes Ogg is missing */
export async function loadOgg(): Promise<typeof import('mediabunny')> {
  return import('mediabunny').catch(cause => {
    throw new AppError('config_error', 'Keeping audio needs a package: npm install mediabunny', { cause });
  });
}

/**
 * Encodes 16 kHz mono audio as an Ogg file, and yields to the event loop meanwhile.
 * @throws as `loadOgg`
 */
export async function encodeOpusFile(pcm: Int16Array): Promise<Uint8Array> {
  const media = await loadOgg();
  const encoder = new Encoder({ channels: 1, sample_rate: SAMPLE_RATE, application: 'voip' });
  encoder.ctl(SET_BITRATE, BITS_PER_S);
  encoder.ctl(SET_COMPLEXITY, COMPLEXITY);
  /** Delay of the encoder in samples, which a player drops at the beginning. */
  const delay = encoder.ctl(GET_LOOKAHEAD);
  const target = new media.BufferTarget();
  const output = new media.Output({ format: new media.OggOutputFormat(), target });
  const source = new media.EncodedAudioPacketSource('opus');
  output.addAudioTrack(source);
  await output.start();
  const meta = {
    decoderConfig: {
      codec: 'opus',
      numberOfChannels: 1,
      sampleRate: OGG_RATE,
      description: headOf((delay * OGG_RATE) / SAMPLE_RATE),
    },
  };
  const pace = createPace();
  const count = Math.ceil((pcm.length + delay) / FRAME_SAMPLES);
  for (let index = 0; index < count; index += 1) {
    const frame = new Int16Array(FRAME_SAMPLES);
    frame.set(pcm.subarray(index * FRAME_SAMPLES, (index + 1) * FRAME_SAMPLES));
    const packet = new media.EncodedPacket(
      Uint8Array.from(encoder.encode(frame)),
      'key',
      index * FRAME_S,
      FRAME_S,
    );
    await source.add(packet, meta);
    await pace();
  }
  encoder.drop();
  await output.finalize();
  return new Uint8Array(target.buffer ?? new ArrayBuffer(0));
}

/**
 * Builds the identification header of Opus (RFC 7845, section 5.1).
 * @param skipped samples at 48 kHz that a player drops at the beginning
 */
function headOf(skipped: number): Uint8Array {
  const head = Buffer.alloc(19);
  head.write('OpusHead', 0, 'latin1');
  head.writeUInt8(1, 8); // version
  head.writeUInt8(1, 9); // channels
  head.writeUInt16LE(skipped, 10);
  head.writeUInt32LE(SAMPLE_RATE, 12);
  return head;
}
