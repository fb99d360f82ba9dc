import test from 'ava';
import { coreProcess } from '../helpers/core-process.ts';
import { connectListen } from '../helpers/listen-client.ts';
import { createDice } from './dice.ts';
import { judge, readAll, type Spoken } from './judge.ts';
import { emptied, endConversations, noneOpen, TONES_CONFIG } from './run.ts';
import { createScript } from './script.ts';

test('of a client that only sends, what is on the disk is written down without it', async t => {
  t.timeout(90_000);
  const core = await coreProcess(t, TONES_CONFIG);
  const dice = createDice(7);
  const spoken: Spoken[] = [];
  for (const [device, source] of ['omi', 'friend', 'phone'].entries()) {
    const query = { codec: 'pcm16', sample_rate: 16_000, source, client_device_id: source };
    const client = await connectListen(core.url, core.key, query);
    const script = createScript({ device, codec: 'pcm16', pausesMs: [1200] });
    const numbers = dice.between(1, 4);
    for (let message = script.next(); message; message = script.next()) {
      client.socket.send(message.bytes);
      if (script.places.length === numbers) script.end();
    }
    client.socket.ping();
    await new Promise(resolve => client.socket.once('pong', resolve));
    await synced(core.url);
    await core.kill();
    await client.closed;
    await core.start();
    spoken.push({ device, source, places: script.places, startedAt: null });
  }
  await emptied(`${core.dataDir}/audio`);
  for (const { source } of spoken) await endConversations(core, source);
  await noneOpen(core);
  const { losses, doubles, disorder, debris } = judge(await readAll(core), spoken);
  t.deepEqual({ losses, doubles, disorder, debris }, { losses: [], doubles: [], disorder: [], debris: [] });
});

/** Nothing is on its way to the disk. */
async function synced(url: string) {
  for (;;) {
    const metrics = await (await fetch(new URL('/metrics', url))).text();
    if (/^earshot_spool_bytes\{state="pending"\} 0$/m.test(metrics)) return;
  }
}
