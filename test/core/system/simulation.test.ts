import test from 'ava';
import { accountOf, operatorOf } from '../../helpers/accounts.ts';
import { eventually } from '../../helpers/eventually.ts';
import { countingStt, openServer } from '../../helpers/services.ts';

test('the simulated pendant speaks to the account that started it, and leaves only a conversation', async t => {
  const server = await openServer(t, { ...countingStt(), rateLimits: { enabled: false } });
  await operatorOf(server);
  const olga = await accountOf(server, 'olga');
  const path = '/v1/system/simulation';
  t.deepEqual(await olga.get(path), { running: false, error: null });
  t.like(await olga.post(path), { running: true });
  await t.throwsAsync(olga.post(path), { message: /is playing already/ });
  await eventually(
    () => olga.get(path),
    ({ running }) => running === false,
  );
  t.deepEqual(await olga.get(path), { running: false, error: null });
  const [conversation] = await olga.get('/v1/dev/user/conversations?include_transcript=true');
  t.regex(JSON.stringify(conversation?.transcript_segments), /"text":"[^"]/);
  t.deepEqual(await olga.get('/v1/dev/keys'), []);

  await olga.post(path);
  t.deepEqual(await olga.send('DELETE', path), { running: false, error: null });
  t.deepEqual(await olga.get('/v1/dev/keys'), []);
});
