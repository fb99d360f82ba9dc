import test from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { countingStt, type House, openHouse } from '../../helpers/house.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';

/** Who does not read does not answer a ping: it is to fall for what it leaves unread, however slow this machine is. */
const PATIENT = { ...countingStt(), listen: { heartbeatMs: 600_000 } };
const QUERY = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };
const MAX_UNSENT_BYTES = 5 * 1024 * 1024; // of the configuration's defaults
const ONE_ANSWER_BYTES = 200;
/** Answered with some 80 bytes. */
const ASKED = 'this is not JSON';
const BATCH = 5000;

/** What the server holds, in bytes. */
async function heldIn(house: House, queue: 'answers' | 'messages'): Promise<number> {
  const metrics = await (await fetch(`${house.url}/metrics`)).text();
  return Number(new RegExp(`^earshot_queue_bytes\\{queue="${queue}"\\} (\\d+)$`, 'm').exec(metrics)?.[1]);
}

/** Asks and does not read, until the server wants no more of it. Answers how much was held for it, at most. */
async function askWithoutReading(house: House, client: ListenClient): Promise<number> {
  client.socket.pause();
  let most = 0;
  while (most <= MAX_UNSENT_BYTES && client.socket.readyState === client.socket.OPEN) {
    const isAnswered = (await heldIn(house, 'messages')) === 0;
    for (let i = 0; isAnswered && i < BATCH; i++) client.socket.send(ASKED);
    most = Math.max(most, await heldIn(house, 'answers'));
  }
  return most;
}

test('one that reads nothing is told to go at 5 MiB, and the others get what is theirs', async t => {
  const house = await openHouse(t, PATIENT);
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
  const house = await openHouse(t, PATIENT);
  const slow = await connectListen(house.url, house.key, QUERY);
  t.true((await askWithoutReading(house, slow)) > MAX_UNSENT_BYTES);
  while ((await heldIn(house, 'answers')) > 0) await new Promise(resolve => setTimeout(resolve, 50));
  slow.socket.resume();
  t.is((await slow.closed).code, 1006);
});
