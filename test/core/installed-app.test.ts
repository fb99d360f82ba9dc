import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { accountOf } from '../helpers/accounts.ts';
import type { Json } from '../helpers/openapi.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { countingStt, openServer } from '../helpers/services.ts';

const TALK = [
  { text: 'Shall we plant the tea bushes behind the house in spring?', start: 0, end: 4, is_user: true },
  { text: 'Yes, and we need a new fence for that.', start: 5, end: 9, speaker: 'SPEAKER_01' },
];

test('An app receives signed events of the users who installed it, within their permissions, until it is uninstalled', async t => {
  const receiver = await startReceiver(t);
  const server = await openServer(t, { ...countingStt(), delivery: { allowHosts: ['127.0.0.1'] } });
  await server.app.commands['user.add']({ name: 'ben' });
  const [anna, ben] = [await accountOf(server, 'owner'), await accountOf(server, 'ben')];
  const app = await ben.post('/v1/apps', {
    name: 'Gardener',
    external_integration: {
      triggers_on: 'memory_creation',
      webhook_url: `${receiver.url}?of=app`,
      actions: ['read_conversations'],
    },
  });
  const { secret } = await ben.post(`/v1/apps/${app.id}/keys`);
  await anna.post(`/v1/apps/enable?app_id=${app.id}`);
  await anna.post('/v1/users/developer/webhook/memory_created', { url: `${receiver.url}?of=anna` });
  const talk = async () =>
    String((await anna.post('/v1/dev/user/conversations/from-segments', { transcript_segments: TALK })).id);
  /** Takes the requests since the last call, by URL. */
  const told = async (count: number) => {
    await receiver.arrived(count);
    const came = receiver.received.splice(0);
    return new Map(came.map(each => [new URL(each.path, server.url).searchParams.get('of'), each]));
  };

  const id = await talk();
  const first = await told(2);
  const ofApp = first.get('app');
  const verified = new Webhook(String(app.signing_secret)).verify(
    String(ofApp?.body),
    ofApp?.headers as never,
  );
  t.like(verified, { id });
  const uid = new URL(ofApp?.path ?? '', server.url).searchParams.get('uid') ?? '';
  t.is(uid, server.userId);
  t.throws(() =>
    new Webhook(String(app.signing_secret)).verify(String(ofApp?.body), first.get('anna')?.headers as never),
  );

  const asApp = async (method: string, path: string) => {
    const response = await fetch(`${server.url}/v2/integrations/${app.id}/${path}`, {
      method,
      headers: { Authorization: `Bearer ${secret}` },
    });
    return { status: response.status, body: (await response.json()) as Json };
  };
  const { conversations } = (await asApp('GET', `conversations?uid=${uid}`)).body as {
    conversations: Json[];
  };
  t.deepEqual(
    conversations.map(found => found.id),
    [id],
  );
  t.is((await asApp('GET', `memories?uid=${uid}`)).status, 403);
  const notified = await asApp('POST', `notification?uid=${uid}&message=Order+the+fence`);
  t.deepEqual(notified, { status: 200, body: { status: 'Ok' } });
  const [notification] = await anna.get('/v1/notifications');
  t.like(notification, {
    app_id: app.id,
    event: 'app_message',
    title: 'Gardener',
    text: 'Order the fence',
  });

  const rotated = await ben.post(`/v1/apps/${app.id}/signing-secret/rotate`);
  const second = await talk();
  const again = (await told(2)).get('app');
  for (const each of [app.signing_secret, rotated.signing_secret])
    t.like(new Webhook(String(each)).verify(String(again?.body), again?.headers as never), { id: second });

  await anna.post(`/v1/apps/disable?app_id=${app.id}`);
  await talk();
  t.deepEqual([...(await told(1)).keys()], ['anna']);
  t.is((await asApp('GET', `conversations?uid=${uid}`)).status, 404);
  await anna.post('/v1/users/developer/webhook/memory_created', { url: '' });
  await anna.post(`/v1/apps/enable?app_id=${app.id}`);
  await talk();
  t.deepEqual([...(await told(1)).keys()], ['app']);
});
