import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { encodeWav } from '../../../../core/audio/pcm.ts';
import { earshot } from '../../../helpers/cli.ts';
import { coreProcess } from '../../../helpers/core-process.ts';
import { countingStt } from '../../../helpers/services.ts';
import { join as joined, type Sound, silence, speech } from '../../../helpers/sound.ts';

async function stream(t: ExecutionContext, sound: Sound, ...options: string[]): Promise<string> {
  const core = await coreProcess(t, countingStt());
  const dir = await mkdtemp(join(tmpdir(), 'earshot-stream-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const file = join(dir, 'recording.wav');
  await writeFile(file, encodeWav(sound));
  const url = core.url.replace('http', 'ws');
  const { code, stdout, stderr } = await earshot([
    'stream',
    file,
    '--url',
    url,
    '--key',
    core.key,
    ...options,
  ]);
  t.is(code, 0, stderr);
  return stdout;
}

const TWICE = joined(speech('budget'), silence(8), speech('health'));

test('a recording becomes a conversation, however fast it is sent', async t => {
  const answer = JSON.parse(await stream(t, speech('budget'), '--speed', '50', '--finish', '--json'));
  t.is(answer.segments.length, 1);
  t.is(answer.conversations.length, 1);
});

test('a pause longer than the timeout makes two conversations, and both are awaited', async t => {
  const out = await stream(t, TWICE, '--speed', '50', '--conversation-timeout', '2', '--json');
  const answer = JSON.parse(out);
  t.is(answer.segments.length, 2);
  t.is(answer.conversations.length, 2);
});

test('silence is reported as such, without a long wait', async t => {
  t.is(
    await stream(t, silence(3), '--speed', '50', '--finish'),
    'Recognised by counting.\nNo speech was heard.\n',
  );
});
