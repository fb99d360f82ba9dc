import type { Plugin } from '../../../core/contract/plugin.ts';

export default {
  name: 'audio-bytes',
  api: 1,
  title: 'Webhook audio_bytes: raw audio every few seconds, signed 16-bit little-endian, mono',
  setup: () => ({
    webhook: {
      type: 'audio_bytes',
      trigger: 'audio',
      render(event) {
        if (event.trigger !== 'audio' || event.pcm.length === 0) return null;
        return {
          query: { sample_rate: String(event.sampleRate), uid: event.userId },
          contentType: 'application/octet-stream',
          body: littleEndian(event.pcm),
        };
      },
    },
  }),
} satisfies Plugin;

/** Copies samples as little-endian bytes on machines of either byte order. */
function littleEndian(pcm: Int16Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(pcm.length * 2));
  for (const [index, sample] of pcm.entries()) view.setInt16(index * 2, sample, true);
  return new Uint8Array(view.buffer);
}
