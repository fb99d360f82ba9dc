import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { modelDirectory } from '../../../config/setup/model.mjs';
import { createModels } from '../../../core/system/models.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { modelServer, smallModel, smallModelContent } from '../../helpers/system.ts';

async function openModelServer(t: ExecutionContext) {
  const server = await modelServer();
  t.teardown(server.close);
  return server;
}

async function open(t: ExecutionContext, url: string, dataDir?: string) {
  const dir = dataDir ?? (await temporaryDirectory(t));
  const counted = { installed: 0 };
  const models = createModels({
    dataDir: dir,
    catalogue: async () => ({
      defaults: { 'sherpa-onnx': 'small' },
      models: { small: smallModel(url), other: smallModel(url) },
    }),
    log: pino({ level: 'silent' }),
    chosen: plugin => (plugin === 'sherpa-final' ? 'other' : undefined),
    async installed() {
      counted.installed += 1;
    },
  });
  const small = async () => (await models.list()).find(({ name }) => name === 'small');
  return { models, dir, counted, small };
}

test('a download reports its progress, and its model is announced', async t => {
  const server = await openModelServer(t);
  const { models, dir, counted, small } = await open(t, server.url);
  t.like(await small(), { installed: false, default: true, download: null });
  t.is((await models.missingOf('sherpa-onnx'))?.name, 'small');
  t.is((await models.missingOf('sherpa-final'))?.name, 'other');
  t.is(await models.missingOf('pocketsphinx'), null);

  await models.download('small');
  const half = smallModelContent().length / 2;
  await eventually(small, found => found?.download?.bytes === half);
  await t.throwsAsync(models.download('other'), { code: 'conflict', message: /small is being downloaded/ });
  await t.throwsAsync(models.remove('small'), { code: 'conflict' });
  server.goOn();
  await eventually(small, found => found?.download?.isRunning === false);
  t.like(await small(), { installed: true, download: { error: null, bytes: 2 * half } });
  t.is(counted.installed, 1);
  t.is(await models.missingOf('sherpa-onnx'), null);

  t.is(await models.remove('small'), 2 * half);
  t.false(existsSync(modelDirectory(dir, 'small', smallModel())));
  await t.throwsAsync(models.remove('small'), { code: 'not_found', message: /small is not installed/ });
  await t.throwsAsync(models.download('smal'), { code: 'not_found', message: /did you mean small/ });
});

test('an interrupted download reports why, and the next one resumes it', async t => {
  const server = await openModelServer(t);
  const first = await open(t, server.url);
  await first.models.download('small');
  await eventually(first.small, found => (found?.download?.bytes ?? 0) > 0);
  first.models.stop();
  server.goOn();
  await eventually(first.small, found => found?.download?.isRunning === false);
  t.like(await first.small(), { installed: false, download: { error: 'the server stops' } });
  t.is(first.counted.installed, 0);
  t.true(existsSync(join(modelDirectory(first.dir, 'small', smallModel()), 'model.bin.part')));

  const second = await open(t, server.url, first.dir);
  await second.models.download('small');
  await eventually(second.small, found => found?.installed === true);
  t.regex(server.ranges.at(-1) ?? '', /^bytes=\d+-$/);

  const nowhere = await open(t, 'http://127.0.0.1:9');
  await nowhere.models.download('small');
  const failed = await eventually(nowhere.small, found => found?.download?.isRunning === false);
  t.regex(failed?.download?.error ?? '', /127\.0\.0\.1:9 cannot be reached/);
});
