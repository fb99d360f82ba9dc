import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { detectionCheck, judgeTrial, recognitionCheck } from '../../../../core/cli/doctor/speech.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { look, patientOf } from '../../../helpers/patient.ts';
import { countingStt, openServer } from '../../../helpers/services.ts';
import { writeToneModel } from '../../../plugins/stt/tone-model.ts';

test('a recogniser is opened, and tested with a recording', async t => {
  const found = await look(t, recognitionCheck, await patientOf(t, { stt: ['pocketsphinx'] }));
  t.regex(
    found.pocketsphinx?.detail ?? '',
    /^\d+ of 9 words right; it took \d+\.\d\d times as long as the speech$/,
  );
  t.is(found.recognition, undefined);
});

test('a recogniser with a missing part names it, and how to get it; without any other, the check fails', async t => {
  const plugins = { pocketsphinx: { hmm: '/nowhere/en-us' } };
  const found = await look(t, recognitionCheck, await patientOf(t, { stt: ['pocketsphinx'], plugins }));
  t.like(found.pocketsphinx, {
    level: 'doubt',
    detail: '/nowhere/en-us is missing',
    cure: 'make it ready with: sudo apt-get install libpocketsphinx3 pocketsphinx-en-us',
  });
  t.like(found.recognition, { level: 'bad', cure: found.pocketsphinx?.cure });
});

test('a replaced model file is reported with both checksums', async t => {
  const directory = await temporaryDirectory(t);
  await writeToneModel(directory);
  const own = {
    kind: 'zipformer2-ctc',
    languages: ['en'],
    files: { model: 'tones.onnx', tokens: 'tokens.txt' },
    sha256: { model: 'a'.repeat(64), tokens: 'b'.repeat(64) },
  };
  const patient = await patientOf(t, {
    stt: ['sherpa-onnx'],
    plugins: { 'sherpa-onnx': { directory, own } },
  });
  const found = await look(t, recognitionCheck, patient);
  t.regex(found['sherpa-onnx']?.detail ?? '', /tones\.onnx has the SHA-256 [0-9a-f]{64} instead of a{64}$/);
  t.regex(found['sherpa-onnx']?.cure ?? '', /put the file there, or correct plugins\.sherpa-onnx\.own/);
  t.is(found.recognition?.level, 'bad');
});

test('a wrong transcript is a warning, and so is a recogniser that the running server has not ready', async t => {
  const patient = await patientOf(t, countingStt());
  const found = await look(t, recognitionCheck, patient);
  t.is(found.counting?.level, 'doubt');
  t.regex(found.counting?.detail ?? '', /^0 of 9 words right; .*; it heard: 27 tenths$/);

  const instance = await openServer(t, {
    stt: ['pocketsphinx'],
    plugins: { pocketsphinx: { hmm: '/nowhere' } },
  });
  const server = await instance.app.commands.status({});
  const beside = await look(t, recognitionCheck, await patientOf(t, { stt: ['pocketsphinx'] }, { server }));
  t.like(beside.pocketsphinx, { level: 'doubt', detail: 'in the running server: /nowhere is missing' });
});

test('a plugin with state can be tested without access to the real database', async t => {
  const use = join(import.meta.dirname, '../../../fixtures/plugins/acme-stt.ts');
  const plugins = { 'acme-stt': { use, apiKey: 'a-long-key' }, sql: { client: 'postgres', port: 1 } };
  const patient = await patientOf(t, { stt: ['acme-stt'], plugins });
  const found = await look(t, recognitionCheck, patient);
  t.regex(found['acme-stt']?.detail ?? '', /it heard: hello$/);
  t.deepEqual(await readdir(patient.loaded.config.dataDir), []);
});

const REMEMBERS = `import { readFileSync } from 'node:fs';
export default {
  name: 'acme', api: 1, title: 'Acme',
  setup({ dataDir }) {
    const text = readFileSync(dataDir + '/model.txt', 'utf8');
    async function* transcribe() { yield { text, startSample: 0, endSample: 1, final: true }; }
    const open = async () => ({ transcribe, failed: new Promise(() => {}), close: async () => {} });
    return { stt: { sampleRate: 16000, languages: 'any', model: null, open } };
  },
};`;

test('a recogniser is tested with the model in the data directory', async t => {
  const use = join(await temporaryDirectory(t), 'acme.mjs');
  await writeFile(use, REMEMBERS);
  const patient = await patientOf(t, { stt: ['acme'], plugins: { acme: { use } } });
  const directory = join(patient.loaded.config.dataDir, 'plugins/acme');
  const { acme } = await look(t, recognitionCheck, patient);
  t.regex(acme?.detail ?? '', /ENOENT/);
  t.true(acme?.detail.includes(`${directory}/model.txt`), acme?.detail);
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'model.txt'), 'we also need to buy bread and milk');
  t.regex((await look(t, recognitionCheck, patient)).acme?.detail ?? '', /^8 of 9 words right/);
});

test('a recogniser without English is only opened', async t => {
  const found = await look(t, recognitionCheck, await patientOf(t, countingStt({ languages: ['de'] })));
  t.like(found.counting, {
    level: 'good',
    detail: 'it opens; it supports de, for which there is no test recording',
  });
});

test('without a recogniser nothing is transcribed, which may be intended', async t => {
  const found = await look(t, recognitionCheck, await patientOf(t, { stt: [] }));
  t.is(found.recognition?.level, 'doubt');
});

test('a recogniser slower than speech is a warning', t => {
  const speech = { samples: new Int16Array(16_000), text: 'one two' };
  t.is(judgeTrial('x', speech, 'one two', 900).level, 'good');
  t.like(judgeTrial('x', speech, 'one two', 1500), {
    level: 'doubt',
    detail: '2 of 2 words right; it took 1.50 times as long as the speech',
    cure: 'choose a smaller model, or a faster machine',
  });
});

test('the speech detector is tested; with a modified model it fails', async t => {
  t.is((await look(t, detectionCheck, await patientOf(t))).silero?.level, 'good');
  const model = join(await temporaryDirectory(t), 'silero.onnx');
  await writeFile(model, 'not a model');
  const found = await look(t, detectionCheck, await patientOf(t, { plugins: { silero: { model } } }));
  t.is(found.silero?.level, 'bad');
  t.regex(found.silero?.detail ?? '', /is another file: 11 bytes, SHA-256 [0-9a-f]{64}$/);
  t.regex(found.silero?.cure ?? '', /^Restore the file/);
});
