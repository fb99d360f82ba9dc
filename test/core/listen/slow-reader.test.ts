import test from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { countingStt, type House, openHouse } from '../../helpers/house.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';

const QUERY = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };
const MAX_UNSENT_BYTES = 5 * 1024 * 1024; // of the configuration's defaults
const ONE_ANSWER_BYTES = 200;
/** Each is answered with some 80 bytes: several times what the server, and the system below it, may hold. */
const MANY = 500_000;
const BATCH = 5000;

/** What the server holds of unread answers. */
async function unread(house: House): Promise<number> {
  const metrics = await (await fetch(`${house.url}/metrics`)).text();
  return Number(/^earshot_queue_bytes\{queue="answers"\} (\d+)$/m.exec(metrics)?.[1]);
}

/** Asks and does not read, until the server wants no more of it. Answers how much was held for it, at most. */
async function askWithoutReading(house: House, client: ListenClient): Promise<number> {
  client.socket.pause();
  let most = 0;
  for (let sent = 0; sent < MANY && most <= MAX_UNSENT_BYTES; sent += BATCH) {
    for (let i = 0; i < BATCH; i++) client.socket.send('this is not JSON');
    most = Math.max(most, await unread(house));
  }
  return most;
}

test('one that reads nothing is told to go at 5 MiB, and the others get what is theirs', async t => {
  const house = await openHouse(t, countingStt());
  const neighbour = await connectListen(house.url, house.key, { ...QUERY, client_device_id: 'neighbour' });
  const say = () => neighbour.socket.send(samplesToBytes(joined(speech('budget'), silence(4))));
  say();
  const slow = await connectListen(house.url, house.key, QUERY);
  const most = await askWithoutReading(house, slow);
  t.true(most > MAX_UNSENT_BYTES, `only ${most} bytes waited`);
  t.true(most <= MAX_UNSENT_BYTES + ONE_ANSWER_BYTES, `${most} bytes waited`);
  say();
  slow.socket.resume();
  t.deepEqual(await slow.closed, { code: 1008, reason: 'slow consumer' });
  await neighbour.until('segments', () => neighbour.segments().length === 2);
  neighbour.socket.close();
});

test('one that never reads is cut off, and nothing is held for it any more', async t => {
  const house = await openHouse(t, countingStt());
  const slow = await connectListen(house.url, house.key, QUERY);
  t.true((await askWithoutReading(house, slow)) > MAX_UNSENT_BYTES);
  while ((await unread(house)) > 0) await new Promise(resolve => setTimeout(resolve, 50));
  slow.socket.resume();
  t.is((await slow.closed).code, 1006);
});
