import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { pino } from 'pino';
import { createClock } from '../../bridge/clock.ts';
import { startBridge } from '../../bridge/main.ts';
import { createFrames } from '../../bridge/simulator/frames.ts';
import { readWav } from '../../bridge/simulator/wav.ts';
import { loadConfig } from '../../config/load.ts';
import { startListenServer } from '../helpers/listen-server.ts';

const RECORDING = join(import.meta.dirname, '../fixtures/budget.wav');

/** The first block of this language in bridge/README.md, as a reader copies it. */
async function block(language: string): Promise<string> {
  const manual = await readFile(new URL('../../bridge/README.md', import.meta.url), 'utf8');
  const [, code] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(manual) ?? [];
  if (code === undefined) throw new Error(`the manual has no ${language} block`);
  return code;
}

test('the driver in the README carries a pendant’s frames to a server with the protocol of /v4/listen', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-driver-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  await writeFile(join(dir, 'garage-pendant.mjs'), await block('js'));
  await writeFile(join(dir, 'earshot.yaml'), await block('yaml'));
  const server = await startListenServer({ port: 0 });
  t.teardown(server.kill);
  const env = { EARSHOT_BRIDGE__CORE: server.url, EARSHOT_BRIDGE__KEY: 'the key of the test' };
  const { config } = loadConfig({ cwd: dir, env });

  const bridge = await startBridge({
    config,
    log: pino({ level: 'silent' }),
    clock: createClock(Date.now),
    simulate: { audio: RECORDING, speed: 20 },
  });
  t.teardown(bridge.stop);
  const held = () => [...server.streams.values()][0]?.messages ?? [];
  const source = createFrames(await readWav(RECORDING), 21);
  await server.until(() => held().length >= source.length);
  const expected = Array.from({ length: source.length }, (_, i) => Buffer.from(source.at(i)).toString('hex'));
  t.deepEqual(
    held()
      .slice(0, source.length)
      .map(({ hex }) => hex),
    expected,
  );
});

test('the decoder in the README counts lost and malformed packets, and never throws', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-driver-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const file = join(dir, 'garage-pendant.mjs');
  await writeFile(file, await block('js'));
  const decoder = (await import(file)).default.createDecoder();
  const push = (hex: string) => decoder.push(Buffer.from(hex, 'hex'));
  t.is(push('ffff00b801').frames[0].lostBefore, 0);
  t.is(push('020000b802').frames[0].lostBefore, 2);
  t.deepEqual(push('0300').frames, []);
  t.like(decoder.counts, { packets: 3, frames: 2, lost: 2, malformed: 1 });
});
