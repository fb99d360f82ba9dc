import test from 'ava';
import { command } from '../../helpers/cli.ts';
import { openServer } from '../../helpers/services.ts';

test('words for recognisers are added, listed and removed', async t => {
  const server = await openServer(t, { stt: [] });
  const vocabulary = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(['vocabulary', ...args], {
      EARSHOT_DATA_DIR: server.dataDir,
    });
    return code === 0 ? stdout : stderr;
  };
  t.regex(await vocabulary('list', 'owner'), /^There are no words yet: .*vocabulary add owner <word>\n$/);
  t.regex(
    await vocabulary('add', 'owner', 'Dr. Okonkwo', 'Earshot'),
    /^The vocabulary of owner now has 2 words/,
  );
  t.is(await vocabulary('list', 'owner'), 'Dr. Okonkwo\nEarshot\n');
  t.deepEqual(JSON.parse(await vocabulary('remove', 'owner', 'earshot', '--json')), {
    words: ['Dr. Okonkwo'],
  });
  t.regex(await vocabulary('add', 'nobody', 'word'), /^error: .*nobody/);
});
