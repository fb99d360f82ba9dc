import { cp, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { SttProvider } from '../../../core/contract/plugin.ts';
import { type KnownFile, readCatalogue } from '../../../plugins/kit/engine/model-file.ts';
import { sttChecks, utteranceOf } from '../../../plugins/kit/suites/stt.ts';
import whisper, { PACKAGE } from '../../../plugins/stt/whisper/index.ts';
import { crash, run, unhurriedClock } from './context.ts';
import { writeGgmlToneModel } from './ggml-tone-model.ts';
import { sounds } from './tone-model.ts';

const ROOT = join(import.meta.dirname, '../../..');
const never = new AbortController().signal;

async function tempDir(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-whisper-'));
  t.teardown(() => rm(directory, { recursive: true }));
  return directory;
}

/** The options that load the tiny model. */
async function toneModel(t: ExecutionContext) {
  const model = join(await tempDir(t), 'tones.bin');
  await writeGgmlToneModel(model);
  return { model, numThreads: 1 };
}

for (const check of sttChecks) {
  test(`whisper ${check.title}`, async t => {
    const running = await run(whisper, await toneModel(t));
    t.teardown(running.stop);
    const texts = ['low high low', 'high high low low high'];
    await t.notThrowsAsync(
      check.run({
        provider: running.stt,
        language: 'en',
        speech: texts.map(text => ({ text, samples: sounds(text), wordErrors: 0 })),
        crash: () => crash(running),
      }),
    );
  });
}

async function hear({ open }: SttProvider, language: string) {
  const session = await open({ language, signal: never });
  const pieces = [];
  for await (const piece of session.transcribe(utteranceOf(sounds('low high'), 1000), never))
    pieces.push(piece);
  return pieces;
}

test('whisper has the languages of its model, and detects the spoken one', async t => {
  const { stt, stop } = await run(whisper, await toneModel(t));
  t.teardown(stop);
  t.is(stt.model, 'tones');
  t.is(stt.languages.length, 99 + 1);
  for (const language of ['en', 'de', 'su', 'multi']) t.true(stt.languages.includes(language), language);
  const spoken = {
    text: 'low high',
    startSample: 1000,
    endSample: 1000 + sounds('low high').length,
    final: true,
  };
  t.deepEqual(await hear(stt, 'multi'), [{ ...spoken, language: 'de' }]);
  t.deepEqual(await hear(stt, 'pt-BR'), [{ ...spoken, language: 'pt' }]);
});

test('whisper rejects a missing model, and says how to get it', async t => {
  await t.throwsAsync(run(whisper), {
    code: 'config_error',
    message:
      /^whisper: [\w-]+\/whisper-base\/ggml-base-q8_0\.bin is missing; .*earshot models pull whisper-base$/,
  });
  await t.throwsAsync(run(whisper, { model: './none.bin' }), {
    code: 'config_error',
    message: /^whisper: [\w./-]+\/none\.bin is missing; name another file in plugins\.whisper\.model$/,
  });
});

test('whisper rejects an unknown model, and lists the known ones', async t => {
  await t.throwsAsync(run(whisper, { model: 'whisper-huge' }), {
    code: 'config_error',
    message: /no model whisper-huge; known are whisper-tiny, .*, or the path of a file/,
  });
});

test('whisper rejects a file that is not a model, one that was truncated, and one that kills its process', async t => {
  const { model } = await toneModel(t);
  const whole = await readFile(model);
  const refuses = (message: RegExp) =>
    t.throwsAsync(run(whisper, { model }, undefined, unhurriedClock), { code: 'config_error', message });

  await truncate(model, 700_000);
  const { message } = (await refuses(/is no model that whisper\.cpp can load; name another file/)) ?? {};
  t.true(message?.includes(model));
  await truncate(model, 5);
  await refuses(/is no Whisper model in the ggml format; name another file/);
  await writeFile(model, 'this is a text');
  await refuses(/is no Whisper model in the ggml format; name another file/);
  // A network of two billion layers.
  whole.writeInt32LE(0x7fff_ffff, 20);
  await writeFile(model, whole);
  await refuses(/ends the process that loads it; name another file/);
});

test('whisper rejects a file of the catalogue with the wrong size', async t => {
  // As core does it: in the data directory.
  const dataDir = await tempDir(t);
  await mkdir(join(dataDir, 'whisper-tiny'));
  await writeFile(join(dataDir, 'whisper-tiny/ggml-tiny-q8_0.bin'), 'half of it');
  await t.throwsAsync(run(whisper, { model: 'whisper-tiny' }, dataDir), {
    code: 'config_error',
    message: /ggml-tiny-q8_0\.bin has 10 bytes instead of 43537433; fetch the model with/,
  });
});

test('without its package whisper names the command that installs it', async t => {
  const elsewhere = await tempDir(t);
  for (const part of ['plugins/stt', 'plugins/kit', 'core/runtime'])
    await cp(join(ROOT, part), join(elsewhere, part), { recursive: true });
  await writeFile(join(elsewhere, 'package.json'), '{ "type": "module" }');
  const { default: alone } = await import(join(elsewhere, 'plugins/stt/whisper/index.ts'));
  await t.throwsAsync(run(alone), {
    code: 'config_error',
    message: `whisper: its package is not installed; install it with: npm install ${PACKAGE}`,
  });
});

test('the command installs the version that the project is tested with', async t => {
  const { peerDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  t.is(`@fugood/whisper.node@${peerDependencies['@fugood/whisper.node']}`, PACKAGE);
});

test('every model of the catalogue for whisper is complete', async t => {
  const catalogue = await readCatalogue<{ files: { model: KnownFile } }>('whisper');
  t.true(Object.hasOwn(catalogue.models, catalogue.default));
  for (const [name, { files }] of Object.entries(catalogue.models)) {
    t.deepEqual(Object.keys(files), ['model'], name);
    t.regex(files.model.sha256 ?? '', /^[0-9a-f]{64}$/);
    t.true(Number.isSafeInteger(files.model.size));
    t.true(new URL(files.model.url ?? '').pathname.endsWith(`/${files.model.name}`));
  }
});
