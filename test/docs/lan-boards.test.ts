import { createCipheriv, createHmac, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import test from 'ava';
import {
  decodeBegin,
  decodeHello,
  Introduction,
  isProven,
  MAX_MESSAGE_BYTES,
  open,
  sessionKey,
  TYPE,
} from '../../bridge/radios/lan/messages.ts';

const page = await readFile(new URL('../../docs/lan-boards.md', import.meta.url), 'utf8');

/** Evaluates a text constant of the sketch as the compiler would. */
function constant(name: string): string {
  const [, text] = new RegExp(`^const char\\* ${name} = (".*");$`, 'm').exec(page) ?? [];
  return JSON.parse(text ?? 'null');
}

/** The value of a type in the sketch. */
function type(name: string): number {
  return Number(new RegExp(`\\b${name} = (0x[0-9a-f]{2})`).exec(page)?.[1]);
}

test('the message types of the page and of the sketch are those of the bridge', t => {
  const rows = [...page.matchAll(/^\| `([0-9a-f]{2})` (\w+) \|/gm)];
  for (const [, code, name] of rows)
    t.deepEqual([name, TYPE[name as keyof typeof TYPE] as number], [name, Number.parseInt(code ?? '', 16)]);
  t.is(rows.length, Object.keys(TYPE).length - 1); // `heard` shares a row with `alive`
  t.true(page.includes(`the answer is \`${TYPE.heard.toString(16)}\``));
  for (const name of ['begin', 'hello', 'audio', 'challenge', 'welcome'] as const)
    t.is(type(name.toUpperCase()), TYPE[name] as number);
});

test("the sketch's computations, in the terms of the page, match the bridge", t => {
  const token = constant('TOKEN');
  const [board, bridge] = [randomBytes(16), randomBytes(16)];
  const introduction = Buffer.from(constant('INTRODUCTION'));
  const hmac = (purpose: string, text: Buffer) =>
    createHmac('sha256', token).update(purpose).update(board).update(bridge).update(text).digest();
  t.deepEqual(decodeBegin(Buffer.concat([Buffer.of(type('BEGIN')), board])), board);
  const proof = hmac('hello', introduction);
  const hello = decodeHello(Buffer.concat([Buffer.of(type('HELLO')), board, bridge, proof, introduction]));
  t.true(hello !== null && isProven(token, hello));
  t.like(Introduction.parse(JSON.parse(String(hello?.json))), { id: 'desk', codec: 'pcm16', frameMs: 20 });

  const key = hmac('key', Buffer.alloc(0));
  t.deepEqual(key, sessionKey(token, { board, bridge }));
  const frame = randomBytes(2 * Number(/const int SAMPLES = (\d+);/.exec(page)?.[1]));
  const header = Buffer.from([type('AUDIO'), 7, 0, 0, 0]);
  const iv = Buffer.from([type('AUDIO'), 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(header);
  const sealed = Buffer.concat([header, cipher.update(frame), cipher.final(), cipher.getAuthTag()]);
  t.deepEqual(open(key, sealed), { type: TYPE.audio, number: 7, body: frame });
  t.true(sealed.length <= MAX_MESSAGE_BYTES);
});
