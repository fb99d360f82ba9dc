import test from 'ava';
import { command } from '../../helpers/cli.ts';
import { openServer } from '../../helpers/services.ts';

test('retention rules are shown, tried and replaced on the command line', async t => {
  const server = await openServer(t, { stt: [] });
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(['retention', 'owner', ...args], {
      EARSHOT_DATA_DIR: server.dataDir,
    });
    return code === 0 ? stdout : stderr;
  };
  t.is(await run(), 'No data of owner is deleted by age.\n');
  t.regex(
    await run('--dry-run', '--set', 'conversations=1'),
    /^Would be deleted now: 0 conversations, 0 photos, 0 audio files, 0 deliveries\n$/,
  );
  t.is(await run(), 'No data of owner is deleted by age.\n');
  t.is(
    await run('--set', 'conversations=365', 'photos=30'),
    'conversations=365\nphotos=30\nStarred conversations are kept.\n',
  );
  t.deepEqual(JSON.parse(await run('--set', 'audio=9', '--starred-too', '--json')), {
    keepStarred: false,
    rules: ['audio=9'],
  });
  t.regex(await run('--set', 'conversations=old'), /^error: .*conversations\/Work=30/);
  t.is(await run('--set', 'none'), 'No data of owner is deleted by age.\n');
});
