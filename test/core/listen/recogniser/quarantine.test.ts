import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { parseWav } from '../../../../core/audio/pcm.ts';
import { createUtterance } from '../../../../core/audio/utterance.ts';
import { createQuarantine } from '../../../../core/listen/recogniser/quarantine.ts';
import { manualClock } from '../../../helpers/manual-clock.ts';

const STREAM = '018f0000-0000-7000-8000-000000000001';
const FROM = 32_000;
const MINUTE_MS = 60_000;

/** A directory, and successive processes that use it. */
async function makeWorld(t: ExecutionContext) {
  const dir = await mkdtemp(join(tmpdir(), 'quarantine-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const clock = manualClock();
  const utterance = createUtterance({ startSample: FROM, channel: 0 });
  utterance.append(Int16Array.from({ length: 16_000 }, (_, at) => at));
  utterance.end();
  const start = () =>
    createQuarantine({ dir, clock, log: pino({ level: 'silent' }), checkDisk: () => Promise.resolve() });
  const files = async () => (await readdir(dir)).filter(name => name.endsWith('.wav'));
  return { dir, clock, utterance, start, files };
}

test('an utterance that kills several processes in a row is quarantined, and the next one is not', async t => {
  const { dir, clock, utterance, start, files } = await makeWorld(t);
  for (let died = 0; died < 5; died++) {
    t.false(await start().again(STREAM, utterance, FROM), `after ${died} deaths`);
    clock.advance(3 * MINUTE_MS);
  }
  t.deepEqual(await files(), []);
  t.true(await start().again(STREAM, utterance, FROM));
  const [file, ...others] = await files();
  t.deepEqual(others, []);
  t.is(parseWav(await readFile(join(dir, file ?? ''))).samples.length, 16_000);
  t.false(await start().again(STREAM, utterance, FROM + 16_000), 'what follows begins to count anew');
});

test('crashes minutes later are not blamed on an utterance', async t => {
  const { clock, utterance, start } = await makeWorld(t);
  for (let died = 0; died < 20; died++) {
    t.false(await start().again(STREAM, utterance, FROM));
    clock.advance(MINUTE_MS / 3);
  }
});

test('a completed attempt does not count, and a failed one counts once', async t => {
  const { clock, utterance, start, files } = await makeWorld(t);
  const quarantine = start();
  for (let stopped = 0; stopped < 20; stopped++) {
    t.false(await quarantine.again(STREAM, utterance, FROM));
    await quarantine.spared(STREAM);
    clock.advance(MINUTE_MS);
  }
  for (let failed = 0; failed < 4; failed++) {
    t.false(await quarantine.again(STREAM, utterance, FROM));
    t.false(await quarantine.failed(STREAM, utterance, FROM), `${failed} failures`);
  }
  t.false(await quarantine.again(STREAM, utterance, FROM));
  t.true(await quarantine.failed(STREAM, utterance, FROM), 'the fifth');
  t.is((await files()).length, 1);
});

test('an unreadable count starts again at zero', async t => {
  const { dir, clock, utterance, start } = await makeWorld(t);
  for (const text of ['', '{"', '[]', '{"x":{"from":"y"}}']) {
    await writeFile(join(dir, 'tries.json'), text);
    t.false(await start().again(STREAM, utterance, FROM));
    clock.advance(3 * MINUTE_MS);
    t.false(await start().again(STREAM, utterance, FROM), 'and goes on');
  }
});
