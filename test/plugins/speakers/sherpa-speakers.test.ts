import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import type { SpeakerModel } from '../../../core/contract/plugin.ts';
import { likeness } from '../../../core/domain/speech/voice-clusters.ts';
import { speakersChecks } from '../../../plugins/kit/suites/speakers.ts';
import sherpa from '../../../plugins/speakers/sherpa-speakers/index.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { sentence, VOICES, voiceModelOptions } from '../../helpers/voices.ts';
import { contextOf } from '../stt/context.ts';

async function setUp(t: ExecutionContext, options: unknown, dataDir = ''): Promise<SpeakerModel> {
  const { context, stop } = contextOf();
  t.teardown(stop);
  return (await sherpa.setup({ ...context, dataDir, options: sherpa.options(z).parse(options) })).speakers;
}

const never = new AbortController().signal;

test('sherpa-speakers meets the contract, with a tiny model of our own in the real extractor', async t => {
  const speakers = await setUp(t, await voiceModelOptions(t));
  const speech = { one: sentence('slt-1'), again: sentence('slt-2'), other: sentence('rms-1') };
  for (const check of speakersChecks) await t.notThrowsAsync(check.run({ speakers, speech }), check.title);
  t.regex(speakers.id, /^sherpa\.voices\.[0-9a-f]{12}$/);
});

test("the tests' model separates their voices with the similarities it declares", async t => {
  const speakers = await setUp(t, await voiceModelOptions(t));
  const vectors = await Promise.all(
    VOICES.map(async name => ({ name, vector: await speakers.embed(sentence(name), never) })),
  );
  for (const one of vectors)
    for (const other of vectors) {
      if (one.name >= other.name) continue;
      const isSame = one.name.split('-')[0] === other.name.split('-')[0];
      const alike = likeness(one.vector, other.vector);
      t.is(
        alike >= (isSame ? speakers.namedVoice : speakers.sameVoice),
        isSame,
        `${one.name} ${other.name} ${alike}`,
      );
    }
});

test('a file that is missing, replaced, or not a model is reported with instructions, and never ends the server', async t => {
  const { file, sha256 } = await voiceModelOptions(t);
  const directory = await temporaryDirectory(t);
  const refused = (options: object, message: RegExp) =>
    t.throwsAsync(setUp(t, options, directory), { code: 'config_error', message });
  await refused(
    {},
    /wespeaker_en_voxceleb_resnet34_LM\.onnx is missing; fetch the model with: earshot models pull wespeaker/,
  );
  await refused({ model: 'whisper' }, /there is no model whisper; known are wespeaker/);
  await refused({ file }, /plugins\.sherpa-speakers\.sha256 is missing/);
  await refused(
    { file, sha256: sha256.replace(/^./, sha256.startsWith('0') ? '1' : '0') },
    /has the SHA-256 .* instead of/,
  );
  await refused({ file: join(directory, 'none.onnx'), sha256 }, /none\.onnx is missing/);
  const garbage = join(directory, 'garbage.onnx');
  await writeFile(garbage, 'this is no model at all');
  await refused({ file: garbage, sha256: 'unchecked' }, /garbage\.onnx ends the process that loads it/);
});
