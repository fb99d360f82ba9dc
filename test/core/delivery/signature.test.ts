import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { createOutbound } from '../../../core/delivery/outbound.ts';
import { signatureHeaders } from '../../../core/delivery/signature.ts';
import { startLocalServer } from '../../helpers/local-server.ts';

const HOUR_MS = 3_600_000;

const newSecret = (bytes = 32) => `whsec_${randomBytes(bytes).toString('base64')}`;
const single = (secret: string) => ({ secret, oldSecret: null, oldSecretUntil: null });
const verifies = (secret: string, body: string, headers: Record<string, string>) => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
};

const TEXTS = ['hello', 'Grüße', '你好', '🧑‍🚀', 'a"b\\c', '\u2028', 'x'.repeat(5000), ''];
/** Bodies of many kinds, with secrets of 24 to 32 bytes; every second webhook changed its secret an hour ago. */
const DELIVERIES = Array.from({ length: 1000 }, (_, number) => {
  const rotated = number % 2 === 1;
  const secret = newSecret(24 + (number % 9));
  const oldSecret = rotated ? newSecret() : null;
  const now = Date.now();
  return {
    hook: { secret, oldSecret, oldSecretUntil: rotated ? now + 23 * HOUR_MS : null },
    message: { id: randomUUID(), body: JSON.stringify({ number, text: TEXTS[number % TEXTS.length] }) },
    now,
  };
});

test('1,000 deliveries over a real connection are verified by an independent implementation', async t => {
  const got = new Map<string, { headers: Record<string, string>; body: string }>();
  const server = await startLocalServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const headers = request.headers as Record<string, string>; // each of our ids is unique
    got.set(headers['webhook-id'] ?? '', { headers, body });
    response.end();
  });
  const outbound = createOutbound({ allowHosts: ['127.0.0.1'], clock: { now: Date.now } });
  t.teardown(async () => {
    await outbound.close();
    await server.close();
  });
  const { signal } = new AbortController();
  await Promise.all(
    DELIVERIES.map(({ hook, message, now }) =>
      outbound.post(server.url, {
        headers: { 'content-type': 'application/json', ...signatureHeaders(hook, message, now) },
        body: message.body,
        signal,
      }),
    ),
  );
  const verified = DELIVERIES.filter(({ hook, message }) => {
    const { headers = {}, body = '' } = got.get(message.id) ?? {};
    const secrets = [hook.secret, hook.oldSecret].filter(secret => secret !== null);
    return secrets.every(secret => verifies(secret, body, headers));
  });
  t.is(verified.length, 1000);
});

interface Received {
  secret: string;
  body: string;
  id: string;
  timestamp: string;
  signature: string;
}

/** Alterations, one each. */
const ALTERATIONS: ((was: Received) => Partial<Received>)[] = [
  ({ body }) => ({ body: `${body} ` }),
  ({ body }) => ({ body: body.replace(/\d/, digit => String((Number(digit) + 1) % 10)) }),
  () => ({ body: '{}' }),
  () => ({ id: randomUUID() }),
  ({ timestamp }) => ({ timestamp: String(Number(timestamp) + 1) }),
  ({ timestamp }) => ({ timestamp: String(Number(timestamp) - 301) }),
  ({ signature }) => ({ signature: flipped(signature) }),
  ({ signature }) => ({ signature: signature.replaceAll('v1,', 'v2,') }),
  () => ({ signature: '' }),
  () => ({ secret: newSecret() }),
];

/** Flips one bit of each signature. */
function flipped(signatures: string): string {
  return signatures
    .split(' ')
    .map(signature => {
      const bytes = Buffer.from(signature.slice(3), 'base64');
      bytes.writeUInt8(bytes.readUInt8(7) ^ 1, 7);
      return `v1,${bytes.toString('base64')}`;
    })
    .join(' ');
}

test('1,000 deliveries altered in transit are rejected by it', t => {
  const refused = DELIVERIES.filter(({ hook, message, now }, index) => {
    const headers = signatureHeaders(hook, message, now);
    const was = {
      ...{ secret: hook.secret, body: message.body, id: message.id },
      ...{ timestamp: headers['webhook-timestamp'] ?? '', signature: headers['webhook-signature'] ?? '' },
    };
    const { secret, body, id, timestamp, signature } = {
      ...was,
      ...ALTERATIONS[index % ALTERATIONS.length]?.(was),
    };
    return !verifies(secret, body, {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signature,
    });
  });
  t.is(refused.length, 1000);
});

test('after a rotation both secrets sign for a day, the new one first', t => {
  const [secret, oldSecret] = [newSecret(), newSecret()];
  const now = Date.now();
  const hook = { secret, oldSecret, oldSecretUntil: now + 1 };
  const message = { id: 'one', body: '{}' };
  const both = signatureHeaders(hook, message, now);
  t.is(
    both['webhook-signature'],
    [secret, oldSecret]
      .map(each => signatureHeaders(single(each), message, now)['webhook-signature'])
      .join(' '),
  );
  const after = signatureHeaders(hook, message, now + 1);
  t.deepEqual(after, signatureHeaders(single(secret), message, now + 1));
});

test('bytes are signed unchanged', t => {
  const body = Uint8Array.of(0, 255, 254, 128, 0);
  const headers = signatureHeaders(
    single('whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX'),
    { id: 'a', body },
    1_700_000_000_999,
  );
  const signed = createHmac('sha256', Buffer.from(Array.from({ length: 24 }, (_, index) => index)))
    .update(Buffer.concat([Buffer.from('a.1700000000.'), body]))
    .digest('base64');
  t.deepEqual(headers, {
    'webhook-id': 'a',
    'webhook-timestamp': '1700000000',
    'webhook-signature': `v1,${signed}`,
  });
});
