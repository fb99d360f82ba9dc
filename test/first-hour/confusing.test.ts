import test from 'ava';
import { command, earshot } from '../helpers/cli.ts';
import { temporaryDirectory } from '../helpers/domain.ts';
import { confusing } from './confusing.ts';

const helpOf = async (words: string[]) => (await command([...words, '--help'])).stdout;

test('commands named in hints exist, and confusing output is found', async t => {
  t.deepEqual(
    await confusing('Start it with: npx earshot serve, or npx earshot models pull whisper-base', helpOf),
    [],
  );
  t.deepEqual(await confusing('try: earshot models fetch x', helpOf), [
    'there is no command models fetch, which it names',
  ]);
  t.deepEqual(await confusing('try: npx earshot cure', helpOf), ['there is no command cure, which it names']);
  t.deepEqual(await confusing('Error: x\n    at run (file:///x.js:1:2)\n', helpOf), [
    'it shows a stack trace',
  ]);
  t.deepEqual(await confusing('It has undefined words', helpOf), [
    'it shows undefined, NaN or [object Object]',
  ]);
  t.deepEqual(await confusing('x could not be fetched. Nothing is left to do', helpOf), [
    'it contradicts itself',
  ]);
});

for (const args of [
  ['status'],
  ['models', 'list'],
  ['models', 'pull', 'whisper-bas'],
  ['stream', 'gone.wav'],
  ['token', 'adda'],
  ['user', 'list'],
  ['notify', 'channels'],
])
  test(`no output of earshot ${args.join(' ')} that a newcomer reads is confusing`, async t => {
    const { stdout, stderr } = await earshot(['--data-dir', await temporaryDirectory(t), ...args]);
    t.deepEqual(await confusing(`${stdout}${stderr}`, helpOf), []);
  });
