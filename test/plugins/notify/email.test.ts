import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { channelChecks } from '../../../plugins/kit/suites/notify.ts';
import email from '../../../plugins/notify/email/index.ts';
import { CERTIFICATE, startMailServer } from '../../helpers/mail-server.ts';
import { MESSAGE, startChannel } from './context.ts';

setDefaultCACertificates([...getCACertificates('default'), CERTIFICATE]);

const FROM = 'earshot@example.com';
const TO = { email: 'ada@example.org' };

async function setUp(
  t: ExecutionContext,
  options: Record<string, unknown> = {},
  server: Parameters<typeof startMailServer>[0] = {},
) {
  const mail = await startMailServer(server);
  t.teardown(() => mail.close());
  const settings = { host: 'localhost', port: mail.port, encryption: 'none', from: FROM, ...options };
  return { mail, ...(await startChannel(t, email, settings)) };
}

for (const check of channelChecks) {
  test(`email ${check.title}, at a real SMTP server`, async t => {
    const { channel, mail } = await setUp(t);
    const arrived = async () => mail.arrived.map(each => `${each.mail.subject}\n${each.mail.text}`);
    await t.notThrowsAsync(check.run({ channel, address: TO, arrived }));
  });
}

test('a mail states its sender and reason, how to unsubscribe, and that it is automatic', async t => {
  const { mail, send } = await setUp(t);
  await send(TO, { urgency: 'high' });
  const [arrived] = mail.arrived;
  t.is(arrived?.from, FROM);
  t.deepEqual(arrived?.to, ['ada@example.org']);
  t.deepEqual(arrived?.mail.from, { address: FROM, name: 'Earshot' });
  t.is(arrived?.mail.subject, 'Call the dentist');
  t.is(arrived?.mail.messageId, `<${MESSAGE.id}@example.com>`);
  t.is(arrived?.mail.date, new Date(MESSAGE.at).toISOString());
  t.is(arrived?.mail.html, undefined);
  t.is(
    arrived?.mail.text?.trim(),
    `It is due today.\n\nEarshot: because it is due\nNo more of these: ${MESSAGE.muteUrl}`,
  );
  const headers = new Map(arrived?.mail.headers.map(({ key, value }) => [key, value]));
  t.is(headers.get('auto-submitted'), 'auto-generated');
  t.is(headers.get('list-unsubscribe'), `<${MESSAGE.muteUrl}>`);
  t.is(headers.get('list-unsubscribe-post'), 'List-Unsubscribe=One-Click');
  t.is(headers.get('x-priority'), '1 (Highest)');
});

test('text of a notification cannot become a header, a recipient, an attachment, or the end of the mail', async t => {
  const { mail, send } = await setUp(t);
  await send(TO, {
    title: 'Hi\r\nBcc: eve@example.com\r\nContent-Type: text/html\r\n\r\n<b>x</b>',
    text: 'one\r\n.\r\nQUIT\r\nMAIL FROM:<eve@example.com>\r\n--x\r\nContent-Disposition: attachment',
    app: 'Tea\r\nBcc: eve@example.com',
    rule: '"; <eve@example.com>',
  });
  const [arrived] = mail.arrived;
  t.deepEqual(arrived?.to, ['ada@example.org']);
  t.is(mail.arrived.length, 1);
  t.is(arrived?.mail.subject, 'Hi Bcc: eve@example.com Content-Type: text/html <b>x</b>');
  t.is(arrived?.mail.bcc, undefined);
  t.is(arrived?.mail.attachments.length, 0);
  t.true(arrived?.mail.text?.includes('one\n.\nQUIT\nMAIL FROM:<eve@example.com>\n--x'));
});

test('addresses that contain more than one address are rejected', async t => {
  const { channel, mail, send } = await setUp(t);
  t.truthy(channel);
  for (const wrong of [
    'a@example.org, b@example.org',
    'a@example.org\r\nBcc: b@example.org',
    'Ada <a@example.org>',
    '',
  ])
    await t.throwsAsync(send({ email: wrong }), { name: 'ZodError' }, wrong);
  t.is(mail.arrived.length, 0);
});

for (const encryption of ['starttls', 'tls'] as const) {
  test(`mail is sent over ${encryption}, with an account`, async t => {
    const account = { encryption, username: 'user', password: 'password' };
    const { mail, send } = await setUp(t, account, { secure: encryption === 'tls', authOptional: false });
    await send(TO);
    t.true(mail.arrived[0]?.isSecure);
  });
}

test('no credentials are sent to a server without encryption, or with a certificate of another host', async t => {
  const account = { encryption: 'starttls', username: 'user', password: 'password' };
  await t.throwsAsync(setUp(t, account, { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] }), {
    code: 'config_error',
    message: /encryption/,
  });
  await t.throwsAsync(setUp(t, { ...account, host: '127.0.0.1' }), {
    code: 'config_error',
    message: /certificate/,
  });
});

test('a wrong password stops the channel, with the name of the option', async t => {
  const account = { encryption: 'tls', username: 'user', password: 'wrong-password' };
  const thrown = await t.throwsAsync(setUp(t, account, { secure: true }), {
    code: 'config_error',
    message: /plugins\.email\.password/,
  });
  t.false(`${thrown?.message}${thrown?.cause}`.includes('wrong-password'));
});

const REFUSALS: [step: 'recipient' | 'data', code: number, words: string, means: string][] = [
  ['recipient', 550, '5.1.1 No such user here', 'gone'],
  ['recipient', 550, '5.2.1 Mailbox disabled', 'gone'],
  ['recipient', 556, '5.1.10 Takes no mail', 'gone'],
  ['recipient', 550, 'No such user here', 'forbidden'],
  ['recipient', 550, '5.7.1 Relaying denied', 'forbidden'],
  ['recipient', 452, '4.2.2 Mailbox full', 'upstream_error'],
  ['recipient', 450, '4.7.1 Greylisted, come again', 'upstream_error'],
  ['data', 552, '5.3.4 Message too big', 'forbidden'],
  ['data', 554, '5.7.1 Spam: Call the dentist', 'forbidden'],
  ['data', 451, '4.3.0 Try again later', 'upstream_error'],
];

test("each SMTP error has its own meaning, and the server's text is not shown", async t => {
  const { mail, send } = await setUp(t);
  for (const [step, code, words, means] of REFUSALS) {
    mail.refuse(step, code, words);
    const thrown = await t.throwsAsync(send(TO), { code: means }, `${code} ${words}`);
    t.true(thrown?.message.includes(`(${code})`));
    t.false(`${thrown?.message}${thrown?.cause}`.includes(words));
  }
  await mail.close();
  await t.throwsAsync(send(TO), { code: 'upstream_error' });
});

test('an unreachable server is reported as such at the start', async t => {
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const { port } = free.address() as AddressInfo;
  free.close();
  await t.throwsAsync(setUp(t, { port }), { code: 'upstream_error', message: /plugins\.email\.host/ });
});

test('sending is aborted when nobody waits for it any more', async t => {
  const leaving = new AbortController();
  const reason = new Error('nobody wants it any more');
  const closed = Promise.withResolvers<void>();
  let sending = '';
  const { mail, send } = await setUp(
    t,
    {},
    {
      onMailFrom(_address, { id }, done) {
        sending = id;
        leaving.abort(reason);
        done();
      },
      onClose: ({ id }) => id === sending && closed.resolve(),
    },
  );
  t.is(await t.throwsAsync(send(TO, {}, leaving.signal)), reason);
  await closed.promise;
  t.is(mail.arrived.length, 0);
});
