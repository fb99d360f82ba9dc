import test from 'ava';
import { samplesToBytes } from '../../../../core/audio/pcm.ts';
import { createHearing, type Pending } from '../../../../core/listen/channel/hearing.ts';
import { meterUtterance } from '../../../../core/listen/channel/meters.ts';
import { createSilence } from '../../../../core/listen/channel/silence.ts';
import { createMetrics, type ListenMetrics } from '../../../../core/runtime/metrics.ts';
import { atPeak, type Sound, silence, whiteNoise } from '../../../helpers/sound.ts';
import { loudVad } from '../../../helpers/vad.ts';

/** The hearing of a connection, with a test clock. */
async function openEars() {
  const clock = { ms: 0 };
  const metrics = createMetrics({
    now: () => clock.ms,
    plugins: () => [],
    jobs: async () => [],
  });
  const utterances: Pending[] = [];
  let number = 0;
  const hearing = await createHearing({
    connection: {
      ...{ userId: 'u', language: 'en', source: 'omi', deviceId: null, timeoutMs: 600_000, stream: null },
      ...{ from: null, recordedAt: null, ack: false, customStt: false, withProfile: true, sttService: null },
      format: { codec: 'pcm16', sampleRate: 16_000, channels: 1 },
      tagged: false,
    },
    channel: 0,
    stored: { through: 0, received: 0, receivedSample: 0, anchorAt: 0 },
    vad: loudVad,
    now: () => clock.ms,
    metrics,
    maxQueuedBytes: 1e9,
    signal: new AbortController().signal,
    onUtterance: entry => utterances.push(entry),
    silence: createSilence({ timeoutMs: 600_000, onOver: () => {} }),
    onAnchor: async () => {},
  });
  return {
    clock,
    metrics,
    utterances,
    async hear(atMs: number, sound: Sound) {
      clock.ms = atMs;
      const bytes = Buffer.from(samplesToBytes(sound).buffer);
      await hearing.take({ kind: 'audio', number: number++, gapMs: 0, at: atMs, bytes });
    },
  };
}

const talk = atPeak(-12, whiteNoise(2, 1));

test('an utterance records when its last speech arrived, and when the silence after it had ended it', async t => {
  const { hear, utterances } = await openEars();
  await hear(1000, silence(2));
  await hear(3000, talk);
  await hear(3400, silence(0.4));
  t.is(utterances.length, 1);
  t.is(utterances[0]?.ended, null);
  await hear(3900, silence(0.5));
  t.deepEqual(utterances[0]?.ended, { spokenAt: 3000, at: 3900 });
});

test('latency counts from the last speech, and beyond the hangover from the end of the utterance', async t => {
  const { clock, hear, metrics, utterances } = await openEars();
  await hear(1000, silence(2));
  await hear(3000, talk);
  const told: Parameters<ListenMetrics['transcribed']>[] = [];
  const listener = { ...metrics, transcribed: (...given: (typeof told)[0]) => told.push(given) };
  const [entry] = utterances;
  if (!entry) throw new Error('nothing was heard');
  const meter = meterUtterance(listener, entry);
  await hear(3900, silence(1));
  clock.ms = 4300;
  meter.sent('acme', 4200);
  meter.done();
  t.deepEqual(told, [['acme', { recogniserMs: 300, latencyMs: 1300, beyondMs: 400 }]]);
});
