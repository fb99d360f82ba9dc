import { Decoder, Encoder } from '@evan/opus';
import test from 'ava';
import { sttChecks, utteranceOf, wordErrorRate } from '../../../plugins/kit/suites/stt.ts';
import pocketsphinx from '../../../plugins/stt/pocketsphinx/index.ts';
import { isThorough } from '../../helpers/thorough.ts';
import { crash, fixture, type Running, run, unhurriedClock } from './context.ts';

const never = new AbortController().signal;

/** The second sentences of two recordings. */
async function sentences() {
  const [health, garden] = await Promise.all([fixture('health'), fixture('garden')]);
  return [
    { samples: health.samples.subarray(63_400), text: 'i feel much better this week', wordErrors: 0.2 },
    {
      samples: garden.samples.subarray(52_000),
      text: 'the weather has been very warm and dry',
      wordErrors: 0.2,
    },
  ];
}

let running: Running;
test.before(async () => {
  running = await run(pocketsphinx, {}, undefined, unhurriedClock);
});
test.after.always(() => running.stop());

for (const check of sttChecks) {
  test.serial(`pocketsphinx ${check.title}`, async t => {
    const speech = await sentences();
    const subject = { provider: running.stt, language: 'en', speech, crash: () => crash(running) };
    await t.notThrowsAsync(check.run(subject));
  });
}

const ALLOWED = { tomorrow: 0.15, ...(isThorough ? { budget: 0.25, garden: 0.25 } : {}) };
test.serial("pocketsphinx transcribes voices over a wearable's codec", async t => {
  const session = await running.stt.open({ language: 'en', signal: never });
  for (const [name, allowed] of Object.entries(ALLOWED)) {
    const { samples, text } = await fixture(name);
    const heard: string[] = [];
    for await (const piece of session.transcribe(utteranceOf(throughOpus(samples), 0), never)) {
      heard.push(piece.text);
    }
    const rate = wordErrorRate(text, heard.join(' '));
    t.log(`${name}: ${Math.round(rate * 100)} % of words wrong`);
    t.true(rate <= allowed, `${name}: ${heard.join(' ')}`);
  }
});

/** Encodes and decodes samples with Opus at 32 kbit/s, in packets of 20 ms. */
function throughOpus(samples: Int16Array): Int16Array {
  const encoder = new Encoder({ channels: 1, sample_rate: 16000, application: 'restricted_lowdelay' });
  const decoder = new Decoder({ channels: 1, sample_rate: 16000 });
  const out = new Int16Array(Math.floor(samples.length / 320) * 320);
  for (let at = 0; at < out.length; at += 320) {
    const pcm = decoder.decode(encoder.encode(samples.slice(at, at + 320)));
    out.set(new Int16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.byteLength)), at);
  }
  return out;
}

test.serial('pocketsphinx reports the position of the words, without the silence around them', async t => {
  const session = await running.stt.open({ language: 'en', signal: never });
  const [, garden] = await sentences();
  const samples = new Int16Array(16_000 + (garden?.samples.length ?? 0) + 16_000);
  samples.set(garden?.samples ?? [], 16_000);
  const pieces = [];
  for await (const piece of session.transcribe(utteranceOf(samples, 500_000), never)) pieces.push(piece);
  // In the recording the words are between 53,600 and 83,360, of which the first 52,000 were left out.
  const [start = 0, end = 0] = [pieces[0]?.startSample, pieces.at(-1)?.endSample];
  t.true(Math.abs(start - (516_000 + 1600)) <= 2400, String(start));
  t.true(Math.abs(end - (516_000 + 31_360)) <= 2400, String(end));
});

test.serial('pocketsphinx names a missing file, and the command that installs it', async t => {
  const remedy = 'make it ready with: sudo apt-get install libpocketsphinx3 pocketsphinx-en-us';
  await t.throwsAsync(run(pocketsphinx, { dict: '/nowhere/words.dict' }), {
    code: 'config_error',
    message: `pocketsphinx: /nowhere/words.dict is missing; ${remedy}`,
  });
  await t.throwsAsync(run(pocketsphinx, { library: 'libnowhere.so.3' }), {
    code: 'config_error',
    message: `pocketsphinx: the library libnowhere.so.3 is missing or does not load; ${remedy}`,
  });
});

test.serial('pocketsphinx rejects a file that is not a model', async t => {
  await t.throwsAsync(run(pocketsphinx, { hmm: import.meta.dirname }), {
    code: 'config_error',
    message: /cannot load the model/,
  });
});
