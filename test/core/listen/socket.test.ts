import test from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { countingStt, openHouse } from '../../helpers/house.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { join, silence, speech } from '../../helpers/sound.ts';

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 2 };
const CHUNK_SAMPLES = 1600;

/** The recording in messages of 100 ms, as fast as it goes. */
function send(client: ListenClient, samples: Int16Array): number {
  let messages = 0;
  for (let at = 0; at < samples.length; at += CHUNK_SAMPLES) {
    client.socket.send(samplesToBytes(samples.subarray(at, at + CHUNK_SAMPLES)));
    messages += 1;
  }
  return messages;
}

test('speech becomes segments, then a finished conversation that REST gives back', async t => {
  const house = await openHouse(t, countingStt());
  const client = await connectListen(house.url, house.key, PCM);
  const session = await client.until('conversation_session');
  t.is(session.status, 'in_progress');
  t.is((await client.until('service_status', event => event.status === 'ready')).provider, 'counting');
  send(client, join(speech('tomorrow'), silence(3)));
  await client.until('segments');
  const created = await client.until('memory_created');
  t.is(created.memory.id, session.conversation_id);

  const { status, body } = await house.get(`/v1/dev/user/conversations/${created.memory.id}?include_transcript=true`);
  t.is(status, 200);
  const conversation = body as { status: string; transcript_segments: { id: string; text: string }[] };
  t.is(conversation.status, 'completed');
  t.deepEqual(
    conversation.transcript_segments.map(({ id, text }) => ({ id, text })),
    client.segments().map(({ id, text }) => ({ id, text })),
  );
  client.socket.close();
});
