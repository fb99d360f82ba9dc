import test from 'ava';
import { Agent, setGlobalDispatcher } from 'undici';
import { encodeWav, samplesToBytes } from '../../../../core/audio/pcm.ts';
import { callControl, controlPath } from '../../../../core/control/control.ts';
import { memoryOf } from '../../../bench/processes.ts';
import { coreProcess } from '../../../helpers/core-process.ts';
import { connectListen } from '../../../helpers/listen-client.ts';
import { countingStt } from '../../../helpers/services.ts';
import { join as joined, silence, speech } from '../../../helpers/sound.ts';

const HOUR_S = 3600;
const RATE = 8000;
/** 16-bit samples at 16 kHz would be 115 MB, the file is 29 MB. */
const MOST_GROWTH_MB = 80;

/** `fetch` waits for an answer for 5 minutes by itself, and a busy machine may need longer. */
setGlobalDispatcher(new Agent({ headersTimeout: 0 }));

/** An hour as a recorder with 8 kHz and 8 bits stores it, with occasional speech. */
function anHour(): { bytes: Uint8Array<ArrayBuffer>; said: number } {
  const bytes = new Uint8Array(HOUR_S * RATE).fill(128);
  const sound = speech('budget');
  let said = 0;
  for (let at = RATE; at + sound.length / 2 < bytes.length - RATE; at += 120 * RATE, said++)
    for (let i = 0; i < sound.length / 2; i++) bytes[at + i] = 128 + ((sound[2 * i] ?? 0) >> 8);
  return { bytes, said };
}

test('an hour in one voice message is not held in memory, and others are transcribed meanwhile', async t => {
  const core = await coreProcess(t, { ...countingStt(), rateLimits: { enabled: false } });
  const control = controlPath(core.dataDir);
  await callControl(control, 'user.add', { name: 'other' });
  const keyOf = async (user: string) => {
    const made = await callControl(control, 'key', { user, scopes: ['listen'] });
    return made === 'absent' ? t.fail() : made.key;
  };
  const [key, otherKey] = [await keyOf('owner'), await keyOf('other')];
  const send = async (by: string, name: string, bytes: Uint8Array<ArrayBuffer>) => {
    const body = new FormData();
    body.append('files', new Blob([bytes]), name);
    const response = await fetch(`${core.url}/v2/voice-message/transcribe?language=en`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${by}` },
      body,
    });
    return (await response.json()) as { outcome: string; transcript: string };
  };
  const short = encodeWav(joined(silence(0.5), speech('garden'), silence(1)));
  t.is((await send(otherKey, 'warm.wav', short)).outcome, 'success');

  const { bytes, said } = anHour();
  let isDone = false;
  const before = memoryOf(core.process().pid ?? 0).rss;
  let most = before;
  const gauge = setInterval(() => {
    most = Math.max(most, memoryOf(core.process().pid ?? 0).rss);
  }, 50);
  t.teardown(() => clearInterval(gauge));
  const hour = send(key, 'hour_pcm8_8000_1.bin', bytes).finally(() => {
    isDone = true;
  });
  t.is((await send(otherKey, 'note.wav', short)).outcome, 'success');
  const client = await connectListen(core.url, otherKey, { codec: 'pcm16', sample_rate: 16_000 });
  client.socket.send(samplesToBytes(joined(speech('garden'), silence(1))));
  await client.until('segments');
  client.socket.close();
  t.false(isDone, 'others did not wait for the hour');
  const { outcome, transcript } = await hour;
  clearInterval(gauge);
  t.is(outcome, 'success');
  t.is(transcript.match(/tenths/g)?.length, said);
  t.log(`${said} times said, ${Math.round(most - before)} MB more`);
  t.true(most - before < MOST_GROWTH_MB, `${Math.round(before)} MB before, ${Math.round(most)} MB at most`);
});
