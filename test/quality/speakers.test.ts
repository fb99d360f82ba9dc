import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { z } from 'zod';
import { encodeWav } from '../../core/audio/pcm.ts';
import sherpa from '../../plugins/speakers/sherpa-speakers/index.ts';
import { temporaryDirectory } from '../helpers/domain.ts';
import { profileRecording, voiceModelOptions } from '../helpers/voices.ts';
import { contextOf } from '../plugins/stt/context.ts';
import { measureLikeness, thresholdsOf } from './likeness.ts';
import { measureSpeakers } from './speakers.ts';

test('the voices of the tests keep their labels through all scenes, and nobody gets a wrong name', async t => {
  const { context, stop } = contextOf();
  t.teardown(stop);
  const options = sherpa.options(z).parse(await voiceModelOptions(t));
  const { speakers } = await sherpa.setup({ ...context, dataDir: '', options });
  const scores = await measureSpeakers(speakers);
  t.log(scores);
  t.is(scores.total?.wrongNames, 0);
  t.true((scores.total?.wrongLabel ?? 1) / (scores.total?.seconds ?? 1) <= 0.1);
  t.true((scores.total?.named ?? 0) >= 0.8 * (scores.total?.nameable ?? 1));

  const easy = await measureSpeakers({ ...speakers, sameVoice: -1, namedVoice: -1 });
  t.true((easy.total?.wrongLabel ?? 0) > 0, 'likenesses that are too low are noticed');
});

test('recordings of people, a folder each, suggest thresholds that separate them', async t => {
  const { context, stop } = contextOf();
  t.teardown(stop);
  const options = sherpa.options(z).parse(await voiceModelOptions(t));
  const { speakers } = await sherpa.setup({ ...context, dataDir: '', options });
  const dir = await temporaryDirectory(t);
  for (const person of ['slt', 'rms'] as const) {
    await mkdir(join(dir, person));
    await writeFile(join(dir, person, 'one.wav'), encodeWav(profileRecording(person)));
  }
  const [likenesses, thresholds] = await measureLikeness(speakers, dir);
  t.deepEqual(
    likenesses?.rows.map(([what]) => what),
    ['of one person', 'of two'],
  );
  const [sameVoice, wrong, namedVoice, found] = thresholds?.rows[0] ?? [];
  t.is(wrong, '0.0 %');
  t.is(found, '100.0 %');
  t.true(Number(sameVoice) > 0.5 && Number(namedVoice) >= Number(sameVoice) && Number(namedVoice) < 0.9);
  await t.throwsAsync(measureLikeness(speakers, join(dir, 'slt')), {
    message: /a folder for each of two people/,
  });

  t.like(thresholdsOf([0.4, 0.7, 0.8, 0.9], [0.1, 0.2, 0.5, 0.3]), {
    equalError: 0.25,
    namedVoice: 0.55,
    found: 0.75,
  });
});
