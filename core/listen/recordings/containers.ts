/** Ogg, MP4 and WebM: a package extracts their packets, which go to the decoders of live audio. */
import type { InputAudioTrack } from 'mediabunny';
import { createAacDecoder } from '../../audio/aac.ts';
import { formatIn, withHeader } from '../../audio/adts.ts';
import { createOpusDecoder } from '../../audio/opus.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Samples } from './audio-file.ts';
import { missing } from './elementary.ts';

const OPUS_FRAME_MS = 20;
/** Allowed containers; playlists are not, because they refer to other files. */
const FORMATS = ['OGG', 'MP4', 'QTFF', 'WEBM', 'MATROSKA', 'ADTS'] as const;

/** Throws `unsupported_media` for codecs that are not decoded here. */
export async function* containerSamples(path: string): Samples {
  const media = await import('mediabunny').catch(missing('This format', 'mediabunny'));
  const input = new media.Input({
    source: new media.FilePathSource(path),
    formats: FORMATS.map(name => media[name]),
  });
  try {
    const track = await input.getPrimaryAudioTrack().catch(broken);
    if (!track) throw new AppError('invalid_input', 'it has no sound');
    const decode = await decoderOf(track);
    const packets = new media.EncodedPacketSink(track).packets();
    for (;;) {
      const { value, done } = await packets.next().catch(broken);
      if (done || !value) return;
      yield await decode(value.data);
    }
  } finally {
    input.dispose();
  }
}

function broken(cause: unknown): never {
  throw new AppError('invalid_input', 'it is damaged, or not complete', { cause });
}

/** Creates the decoder from packets to samples (16 kHz, mono). */
async function decoderOf(track: InputAudioTrack): Promise<(packet: Uint8Array) => Promise<Int16Array>> {
  const codec = await track.getCodec();
  const config = await track.getDecoderConfig().catch(broken);
  if (codec === 'opus' && (config?.numberOfChannels ?? 1) <= 2) {
    const decoder = createOpusDecoder(OPUS_FRAME_MS);
    return async packet => (await decoder.decode(packet)).pcm;
  }
  const toMessage = codec === 'aac' && config ? aacMessages(config.description) : null;
  if (!toMessage || !config)
    throw new AppError('unsupported_media', `its codec (${codec ?? 'unknown'}) is not supported`);
  const decoder = await createAacDecoder({ codec: 'aac', sampleRate: config.sampleRate, channels: 1 });
  return async packet => (await decoder.decode(toMessage(packet))).pcm;
}

type Description = ArrayBufferLike | ArrayBufferView;

/**
 * Creates the conversion from packets to frames with a header; without a description packets have one. Null: unknown.
 */
function aacMessages(description: Description | undefined): ((packet: Uint8Array) => Uint8Array) | null {
  if (description === undefined) return packet => packet;
  const format = formatIn(bytesOf(description));
  return format && (packet => withHeader(format, packet));
}

function bytesOf(source: Description): Uint8Array {
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
}
