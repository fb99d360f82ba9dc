import test from 'ava';
import { command } from '../../helpers/cli.ts';
import { openServer } from '../../helpers/services.ts';

test('listening is paused, resumed and scheduled on the command line', async t => {
  const server = await openServer(t, { stt: [], notifications: { timeZone: 'Europe/Berlin' } });
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(args, { EARSHOT_DATA_DIR: server.dataDir });
    return code === 0 ? stdout : stderr;
  };
  t.is(await run('listening', 'owner'), 'owner is listened to.\n');
  t.regex(
    await run('pause', 'owner', '--for', '90m'),
    /^Listening to owner is paused until .*resume owner\n$/,
  );
  t.regex(await run('pause', 'owner'), /^Listening to owner is paused\. /);
  const { schedule, ...resumed } = JSON.parse(await run('resume', 'owner', '--json'));
  t.deepEqual(resumed, { paused: false, cause: null, until: null, timeZone: 'Europe/Berlin' });
  t.deepEqual(schedule, []);
  t.regex(
    await run('listening', 'owner', '--schedule', 'fri-mon 22:00-07:30', 'wed 00:00-00:00'),
    /Paused each week: mon,fri,sat,sun 22:00-07:30\nPaused each week: wed 00:00-00:00\n$/,
  );
  for (const wrong of ['mon', 'mon 25:00-26:00', 'moon 1:00-2:00', 'mon 1:00-2:00 x'])
    t.regex(await run('listening', 'owner', '--schedule', wrong), /^error: .*mon-fri 22:00-07:00/);
  for (const wrong of ['1', '0h', 'an hour', '-1h', '9999999m'])
    t.regex(await run('pause', 'owner', `--for=${wrong}`), /^error: --for .*90m/, wrong);
  t.regex(await run('pause', 'owner', '--for', '31d'), /^error: .*minutes/);
  t.notRegex(await run('listening', 'owner', '--schedule', 'none'), /Paused each week/);
  t.regex(await run('pause', 'nobody'), /^error: .*nobody/);
});
