import test from 'ava';
import { z } from 'zod';
import sherpa from '../../plugins/speakers/sherpa-speakers/index.ts';
import { voiceModelOptions } from '../helpers/voices.ts';
import { contextOf } from '../plugins/stt/context.ts';
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
