import test from 'ava';
import { openCaldavServer } from '../../helpers/caldav-server.ts';
import { command } from '../../helpers/cli.ts';
import { openServer } from '../../helpers/services.ts';

test.serial(
  'A calendar is connected, brought up to date, shown without its password, and disconnected',
  async t => {
    const caldav = await openCaldavServer(); // a server that speaks CalDAV on a real socket
    t.teardown(caldav.close);
    const { dataDir, url, app } = await openServer(t, {
      stt: [],
      delivery: { allowHosts: ['127.0.0.1'] },
    });
    const run = async (input: string, ...args: string[]) => {
      const { code, stdout, stderr } = await command(['--data-dir', dataDir, 'calendar', ...args], {}, input);
      return { code, said: stdout + stderr };
    };
    t.regex((await run('', 'status', 'owner')).said, /No calendar is connected/);
    t.regex((await run('', 'sync', 'owner')).said, /error: No calendar is connected/);

    const fields = [`url=${caldav.url}`, 'username=ada', '--secret', 'password'];
    t.regex(
      (await run('wrong\n', 'connect', 'owner', ...fields)).said,
      /error: .*refuses the name or the password/,
    );
    t.regex((await run('secret\n', 'connect', 'owner', ...fields)).said, /Connected the calendar "Plans"/);

    const { key } = await app.commands.key({ user: 'owner', name: 'writer', scopes: ['action_items:write'] });
    const made = await fetch(new URL('/v1/dev/user/action-items', url), {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'Water the plants' }),
    });
    t.true(made.ok, await made.text());
    const synced = await run('', 'sync', 'owner');
    t.regex(synced.said, /^Plans: last synchronised 2/);
    t.true([...caldav.entries.values()].join('').includes('Water the plants'));
    const status = await run('', 'status', 'owner');
    t.regex(status.said, /username=ada/);
    t.false(`${synced.said}${status.said}`.includes('secret'));

    t.regex((await run('', 'disconnect', 'owner')).said, /Its entries stay there/);
    t.is(caldav.entries.size, 1);
    t.regex((await run('', 'disconnect', 'owner')).said, /error: No calendar is connected/);
  },
);
