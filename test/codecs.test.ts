import anyTest, { type TestFn } from 'ava';
import type { Codec } from '../core/audio/codecs.ts';
import { concatSamples } from '../core/audio/pcm.ts';
import sentences from './fixtures/sentences.json' with { type: 'json' };
import { connectListen } from './helpers/listen-client.ts';
import { adtsFrames, messagesOf } from './helpers/packets.ts';
import { buildServer, type TestServer } from './helpers/services.ts';
import { silence, speech } from './helpers/sound.ts';
import { isThorough } from './helpers/thorough.ts';
import { wordErrorRate } from './helpers/word-error-rate.ts';

const test = anyTest as TestFn<{ server: TestServer }>;
/** Far enough from the limits that another processor's rounding has no effect. */
const SAID = 'health';
/** Words in the committed AAC file. */
const SAID_IN_AAC = 'tomorrow';
const sound = concatSamples([silence(0.5), speech(SAID), silence(1)]);

/** Every other sample, unfiltered: little is expected of 8-bit audio at 8 kHz. */
const atHalfRate = sound.filter((_, i) => i % 2 === 0);

const SENT: Record<Codec, { messages: Uint8Array[]; sampleRate: number; maxWer: number }> = {
  pcm8: { messages: messagesOf(atHalfRate, 'pcm8'), sampleRate: 8000, maxWer: 0.6 },
  pcm16: { messages: messagesOf(sound, 'pcm16'), sampleRate: 16_000, maxWer: 0.15 },
  opus: { messages: messagesOf(sound, 'opus'), sampleRate: 16_000, maxWer: 0.15 },
  opus_fs320: { messages: messagesOf(sound, 'opus_fs320'), sampleRate: 16_000, maxWer: 0.15 },
  aac: { messages: adtsFrames(`${SAID_IN_AAC}.aac`), sampleRate: 16_000, maxWer: 0.15 },
  lc3: { messages: messagesOf(sound, 'lc3'), sampleRate: 16_000, maxWer: 0.15 },
  lc3_fs1030: { messages: messagesOf(sound, 'lc3_fs1030'), sampleRate: 16_000, maxWer: 0.15 },
};

test.before(async t => {
  t.context.server = await buildServer({ stt: ['pocketsphinx'] });
});
test.after.always(t => t.context.server?.stop());

/** One per family of wearables; framing and AAC are tested sample by sample in `core/audio`. */
const USUAL = ['pcm8', 'opus_fs320', 'lc3_fs1030'];

for (const [codec, { messages, sampleRate, maxWer }] of Object.entries(SENT)) {
  if (!isThorough && !USUAL.includes(codec)) continue;
  test.serial(
    `speech sent as ${codec} at ${sampleRate} Hz has at most ${maxWer * 100} % wrong words`,
    async t => {
      const { server } = t.context;
      const client = await connectListen(server.url, server.key, {
        codec,
        sample_rate: sampleRate,
        client_device_id: codec,
        language: 'en',
      });
      for (const message of messages) client.socket.send(message);
      client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
      await client.until('memory_created');
      const heard = client
        .segments()
        .map(segment => segment.text)
        .join(' ');
      client.socket.close();
      const wer = wordErrorRate(sentences[codec === 'aac' ? SAID_IN_AAC : SAID].text, heard);
      t.log(`${(wer * 100).toFixed(0)} %: ${heard}`);
      t.true(wer <= maxWer, `${(wer * 100).toFixed(0)} % of words wrong: ${heard}`);
    },
  );
}
