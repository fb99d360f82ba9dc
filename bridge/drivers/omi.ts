import type { Driver, PacketDecoder, WireFormat } from '../driver.ts';
import type { Packet } from '../numbering.ts';
import { createAssembler } from '../packets.ts';
import { createSampleAssembler } from '../samples.ts';

const omi = (number: string) => `19b1${number}-e8f2-537e-4f6c-d104768a1214`;
const AUDIO_SERVICE = omi('0000');
const CODEC = { service: AUDIO_SERVICE, characteristic: omi('0002') };

/**
 * Codec ids of the firmware. Id 1 is named "PCM 8-bit" here and there, but the firmware that sends it packs 16-bit
 * samples at 8 kHz. Its frames have 80 or 160 samples; 80 is what the last builds send.
 */
const FORMATS: Readonly<Record<number, WireFormat>> = {
  0: { codec: 'pcm16', sampleRate: 16000, frameMs: 10 },
  1: { codec: 'pcm16', sampleRate: 8000, frameMs: 10 },
  20: { codec: 'opus', sampleRate: 16000, frameMs: 10 },
  21: { codec: 'opus_fs320', sampleRate: 16000, frameMs: 20 },
};

const HEADER_BYTES = 3;
const SAMPLE_BYTES = 2;
/** What the firmware's encoder may make of one frame. */
const MAX_OPUS_FRAME_BYTES = 160;
const MAX_FRAME_BYTES = 4096;
const ATT_HEADER_BYTES = 3;

/**
 * Omi and Friend pendants (DevKit 1 and 2, CV1) and everything that speaks their protocol. An audio notification is
 * [u16 packet number, counted on for every notification][u8 fragment within the frame][payload].
 */
export default {
  name: 'omi',
  title: 'Omi and Friend pendants, and compatible ones',
  // The service's UUID is that of a well-known sample program, so the codec characteristic must be there as well.
  match: { serviceUuids: [AUDIO_SERVICE], confirm: CODEC },
  audio: {
    service: AUDIO_SERVICE,
    characteristic: omi('0001'),
    codec: { ...CODEC, values: FORMATS },
    minMtu: 100,
  },
  battery: { service: '180f', characteristic: '2a19' },
  createDecoder: (format, link) => (format.codec === 'pcm16' ? sampleDecoder(format) : frameDecoder(link)),
} satisfies Driver;

function frameDecoder({ mtu }: { mtu: number }): PacketDecoder {
  return createAssembler({
    parse,
    // Inferred from the encoder's limit, not confirmed on every device: any Opus frame fits one notification.
    atOnce: mtu >= MAX_OPUS_FRAME_BYTES + HEADER_BYTES + ATT_HEADER_BYTES,
    maxFrameBytes: MAX_FRAME_BYTES,
  });
}

function sampleDecoder({ sampleRate, frameMs }: WireFormat): PacketDecoder {
  const frameBytes = (SAMPLE_BYTES * sampleRate * frameMs) / 1000;
  return createSampleAssembler({
    parse,
    frameBytes,
    sampleBytes: SAMPLE_BYTES,
    maxFrameBytes: MAX_FRAME_BYTES,
  });
}

function parse(packet: Uint8Array): Packet | null {
  const [low, high, fragment] = packet;
  if (low === undefined || high === undefined || fragment === undefined) return null;
  return { id: low | (high << 8), fragment, payload: packet.subarray(HEADER_BYTES) };
}
