import { spawnSync } from 'node:child_process';
import { mkdtemp, open, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readCatalogue } from '../../../plugins/kit/engine/model-file.ts';
import { MODEL_KINDS } from '../../../plugins/kit/sherpa/sherpa-kinds.ts';
import type { KnownModel } from '../../../plugins/kit/sherpa/sherpa-model.ts';
import { growingUtterance, sttChecks } from '../../../plugins/kit/suites/stt.ts';
import sherpaOnnx from '../../../plugins/stt/sherpa-onnx/index.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { crash, run } from './context.ts';
import { SAMPLE_RATE, sounds, writeOfflineToneModel, writeToneModel } from './tone-model.ts';

/** The tiny model in its own directory, and the options that load it. */
async function toneModel(t: ExecutionContext) {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-tones-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const files = await writeToneModel(directory);
  const own = {
    kind: 'zipformer2-ctc',
    languages: ['en'],
    files: { model: 'tones.onnx', tokens: 'tokens.txt' },
    sha256: { model: files['tones.onnx']?.sha256, tokens: files['tokens.txt']?.sha256 },
  };
  return { directory, own };
}

for (const check of sttChecks) {
  test(`sherpa-onnx ${check.title}`, async t => {
    const running = await run(sherpaOnnx, await toneModel(t));
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

/** The tiny model for whole utterances. */
async function offlineModel(t: ExecutionContext) {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-tones-'));
  t.teardown(() => rm(directory, { recursive: true }));
  await writeOfflineToneModel(directory);
  const files = { model: 'tones.onnx', tokens: 'tokens.txt' };
  return {
    directory,
    own: { kind: 'offline-zipformer-ctc', languages: ['en'], files, sha256: 'unchecked' },
  };
}

test('sherpa-onnx transcribes whole utterances with a model that cannot stream', async t => {
  const running = await run(sherpaOnnx, await offlineModel(t));
  t.teardown(running.stop);
  const texts = ['low high low', 'high high low low high'];
  const speech = texts.map(text => ({ text, samples: sounds(text), wordErrors: 0 }));
  const subject = { provider: running.stt, language: 'en', speech, crash: () => crash(running) };
  for (const check of sttChecks) await t.notThrowsAsync(check.run(subject), check.title);
});

test('sherpa-onnx answers before a long utterance has ended, with the position of each piece', async t => {
  const running = await run(sherpaOnnx, await toneModel(t));
  t.teardown(running.stop);
  const session = await running.stt.open({ language: 'en', signal: new AbortController().signal });
  const growing = growingUtterance(1_000_000);
  const pieces = session.transcribe(growing.utterance, new AbortController().signal)[Symbol.asyncIterator]();
  growing.push(sounds('low high'));
  growing.push(new Int16Array(2 * SAMPLE_RATE));
  // Words start at 0.4 and 1.1 s; the second one starts no earlier than the frame that contains it, 40 ms
  // long.
  const first = await pieces.next();
  t.like(first.value, { text: 'low high', final: true });
  checkSample(t, first.value?.startSample, 1_000_000 + 0.4 * SAMPLE_RATE);
  checkSample(t, first.value?.endSample, 1_000_000 + 1.1 * SAMPLE_RATE + 0.16 * SAMPLE_RATE);
  growing.push(sounds('high'));
  growing.end();
  const second = await pieces.next();
  t.like(second.value, { text: 'high', final: true });
  checkSample(t, second.value?.startSample, 1_000_000 + (1.8 + 2 + 0.4) * SAMPLE_RATE);
  t.true((await pieces.next()).done);
});

/** Within two of the model's answers, which come every 40 ms. */
function checkSample(t: ExecutionContext, found: number | undefined, expected: number): void {
  t.true(Math.abs((found ?? 0) - expected) <= 0.08 * SAMPLE_RATE, `${found} is not about ${expected}`);
}

test('sherpa-onnx rejects a missing or incomplete model, and says how to get it', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-models-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const error = await t.throwsAsync(run(sherpaOnnx, { directory }), { code: 'config_error' });
  t.regex(error?.message ?? '', /^sherpa-onnx: its model is missing; .*earshot models pull sherpa-onnx-/);
  t.true(error?.message.endsWith(`--into ${directory}`));
  await writeFile(join(directory, 'tokens.txt'), '');
  const partial = await t.throwsAsync(run(sherpaOnnx, { directory }), { code: 'config_error' });
  t.regex(partial?.message ?? '', /encoder-.*\.onnx is missing; .*earshot models pull sherpa-onnx-/);
});

test('sherpa-onnx rejects a replaced file', async t => {
  const { directory, own } = await toneModel(t);
  const path = join(directory, 'tones.onnx');
  const bytes = await readFile(path);
  bytes[1000] = (bytes[1000] ?? 0) ^ 1;
  await writeFile(path, bytes);
  const error = await t.throwsAsync(run(sherpaOnnx, { directory, own }), { code: 'config_error' });
  t.true(error?.message.includes('tones.onnx has the SHA-256'));
  t.true(error?.message.includes(String(own.sha256.model)));
});

test('sherpa-onnx rejects a file of the catalogue with the wrong size', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-models-'));
  t.teardown(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, 'encoder-epoch-99-avg-1-chunk-16-left-128.int8.onnx'), 'half of it');
  await t.throwsAsync(run(sherpaOnnx, { directory }), {
    code: 'config_error',
    message: /has 10 bytes instead of 71083163/,
  });
});

test('sherpa-onnx rejects an unknown model, and lists the known ones', async t => {
  await t.throwsAsync(run(sherpaOnnx, { model: 'babel' }), {
    code: 'config_error',
    message:
      /sherpa-onnx: there is no model babel; known are sherpa-onnx-streaming-zipformer-en-2023-06-26, /,
  });
});

test('a broken model that nobody verified ends its own process and not ours', async t => {
  const { directory, own } = await toneModel(t);
  await truncate(join(directory, 'tones.onnx'), 1200);
  await t.throwsAsync(run(sherpaOnnx, { directory, own: { ...own, sha256: 'unchecked' } }), {
    code: 'upstream_error',
    message: /its process ended with .* while it loaded the model/,
  });
});

test('sherpa-onnx looks for each file of each kind of model at its documented path', async t => {
  const file = join(await temporaryDirectory(t), 'answers');
  const output = await open(file, 'w'); // a full pipe would make it lose lines
  t.teardown(() => output.close());
  const program = new URL('./sherpa-files-main.ts', import.meta.url);
  const { status } = spawnSync(process.execPath, [program.pathname], {
    stdio: ['ignore', 'ignore', output.fd],
  });
  const text = await readFile(file, 'utf8');
  t.is(status, 0, text.slice(-2000));
  const answers = new Map(
    text
      .split('\n@ ')
      .slice(1)
      .map(part => [part.slice(0, part.indexOf('\n')), part]),
  );
  for (const [kind, { files }] of Object.entries(MODEL_KINDS))
    for (const file of files) {
      const answer = answers.get(`${kind} ${file}`) ?? '';
      t.true(answer.includes(`/nowhere/${kind}.${file}`), `${kind} ${file}: ${answer}`);
    }
});

test('every sherpa-onnx model of the catalogue is complete', async t => {
  const catalogue = await readCatalogue<KnownModel & { live: boolean }>('sherpa-onnx');
  t.true(Object.hasOwn(catalogue.models, catalogue.default));
  for (const [name, model] of Object.entries(catalogue.models)) {
    t.deepEqual(Object.keys(model.files), [...MODEL_KINDS[model.kind].files], name);
    t.is(model.live, MODEL_KINDS[model.kind].streaming, name);
    for (const file of Object.values(model.files)) {
      t.regex(file.sha256 ?? '', /^[0-9a-f]{64}$/);
      t.true(Number.isSafeInteger(file.size));
      t.true(new URL(file.url ?? '').pathname.endsWith(`/${file.name}`));
    }
  }
});
