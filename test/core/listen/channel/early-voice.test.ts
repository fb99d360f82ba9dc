import test, { type ExecutionContext } from 'ava';
import { createUtterance } from '../../../../core/audio/utterance.ts';
import type { SpeakerModel } from '../../../../core/contract/plugin.ts';
import { createVoices } from '../../../../core/domain/speech/voices.ts';
import { listenEarly } from '../../../../core/listen/channel/early-voice.ts';
import type { Pending } from '../../../../core/listen/channel/hearing.ts';
import { openDomain } from '../../../helpers/domain.ts';
import { silence } from '../../../helpers/sound.ts';
import { patient, sentence } from '../../../helpers/voices.ts';

const SPEECH = sentence('slt-1').subarray(0, 32_000);
const HANGOVER = 8800;

/**
 * An utterance at sample 1000 of its stream, and a speaker model that records requests and answers on
 * command.
 */
async function open(t: ExecutionContext, { labelVoices = true } = {}) {
  const { storage, users, speechSettings, log } = await openDomain(t);
  const { id: userId } = await users.add('ada');
  await speechSettings.change(userId, { labelVoices });
  const asked: { samples: number; signal: AbortSignal; answer(): void }[] = [];
  let onAsked = () => {};
  const model: SpeakerModel = {
    ...{ id: 'noting', dimensions: 2, sameVoice: 0.5, namedVoice: 0.6 },
    embed(samples, signal) {
      const { promise, resolve } = Promise.withResolvers<Float32Array>();
      asked.push({ samples: samples.length, signal, answer: () => resolve(Float32Array.of(1, 0)) });
      onAsked();
      return promise;
    },
  };
  const voices = createVoices({ storage, speechSettings, speakers: () => model, clock: patient, log });
  const { analyse } = voices.open(userId, { withProfile: false });
  const utterance = createUtterance({ startSample: 1000, channel: 0 });
  const entry: Pending = {
    ...{ utterance, committed: 1000, ended: null, speechEnd: null, onLull: null },
    reached: Promise.withResolvers(),
  };
  return {
    ...{ entry, utterance, asked },
    listen: () => listenEarly(entry, analyse, new AbortController().signal),
    say: (samples: Int16Array) => utterance.append(samples),
    /** Silence has begun. */
    lull() {
      entry.speechEnd = utterance.endSample;
      entry.onLull?.();
    },
    goOn() {
      entry.speechEnd = null;
    },
    end() {
      utterance.append(silence(HANGOVER / 16_000));
      utterance.end();
      entry.ended = { spokenAt: 0, at: 0 };
      entry.onLull?.();
    },
    async untilAsked(times: number) {
      while (asked.length < times)
        await new Promise<void>(resolve => {
          onAsked = resolve;
        });
    },
    whole: () => ({ startSample: 1000, endSample: utterance.endSample }),
  };
}

test('speech before a pause is analysed while the utterance continues, and its text uses that analysis', async t => {
  const { listen, say, lull, end, untilAsked, asked, whole } = await open(t);
  const early = listen();
  say(SPEECH);
  lull();
  await untilAsked(1);
  asked[0]?.answer();
  end();
  const { heard, space } = early.analysisOf(whole());
  t.is(space, 'noting');
  t.deepEqual(await heard, { vector: Float32Array.of(1, 0), seconds: 2 }, 'without the silence at the end');
  early.end();
  t.deepEqual(
    asked.map(({ samples, signal }) => [samples, signal.aborted]),
    [[32_000, false]],
  );
});

test('longer speech is analysed again at its next pause, and the earlier analysis is cancelled', async t => {
  const { listen, say, lull, goOn, end, untilAsked, asked, whole } = await open(t);
  const early = listen();
  say(SPEECH);
  lull();
  await untilAsked(1);
  goOn();
  say(SPEECH);
  lull();
  await untilAsked(2);
  t.true(asked[0]?.signal.aborted);
  end();
  const { heard } = early.analysisOf(whole());
  asked[1]?.answer();
  t.is((await heard)?.seconds, 4);
  t.is(asked.length, 2);
});

test('a few more words do not change the speaker, so nothing is analysed again', async t => {
  const { listen, say, lull, goOn, end, untilAsked, asked, whole } = await open(t);
  const early = listen();
  say(SPEECH);
  lull();
  await untilAsked(1);
  goOn();
  say(SPEECH.subarray(0, 6400));
  lull();
  end();
  const { heard } = early.analysisOf(whole());
  asked[0]?.answer();
  t.is((await heard)?.seconds, 2);
  t.is(asked.length, 1);
});

test('text for a part of the speech is analysed separately', async t => {
  const { listen, say, lull, end, untilAsked, asked } = await open(t);
  const early = listen();
  say(SPEECH);
  lull();
  await untilAsked(1);
  end();
  const { heard } = early.analysisOf({ startSample: 1000, endSample: 17_000 });
  await untilAsked(2);
  t.true(asked[0]?.signal.aborted);
  asked[1]?.answer();
  t.is((await heard)?.seconds, 1);
});

test('an utterance that ends without a pause, or is processed late, is analysed while it is recognised', async t => {
  const cut = await open(t);
  const early = cut.listen();
  cut.say(SPEECH);
  cut.end();
  await cut.untilAsked(1);
  early.end();
  t.true(cut.asked[0]?.signal.aborted, 'it became no text');

  const late = await open(t);
  late.say(SPEECH);
  late.lull();
  late.end();
  const behind = late.listen();
  await late.untilAsked(1);
  const { heard } = behind.analysisOf(late.whole());
  late.asked[0]?.answer();
  t.is((await heard)?.seconds, 2);
});

test('nothing is analysed early for a user who has turned the feature off', async t => {
  const { listen, say, lull, end, asked, whole } = await open(t, { labelVoices: false });
  const early = listen();
  say(SPEECH);
  lull();
  end();
  t.is(await early.analysisOf(whole()).heard, null);
  t.is(asked.length, 0);
});
