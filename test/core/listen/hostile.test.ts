import anyTest, { type TestFn } from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import {
  closing,
  encodeFrame,
  type Frame,
  OPCODE,
  openRaw,
  openRawListen,
  type RawSocket,
  upgradeRequest,
} from '../../helpers/raw-socket.ts';
import { buildServer, countingStt, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';

const test = anyTest as TestFn<{ server: TestServer; neighbour: ListenClient; said: { times: number } }>;

const QUERY = 'codec=pcm16&sample_rate=16000&conversation_timeout=600';
const SAID = samplesToBytes(joined(speech('budget'), silence(4)));
/** Text that the recogniser returns for it. */
const WORDS = /^\d+ tenths$/;
const KiB = 1024;

test.before(async t => {
  const server = await buildServer({ ...countingStt(), listen: { maxConnectionsPerUser: 500 } });
  const neighbour = await connectListen(server.url, server.key, {
    ...Object.fromEntries(new URLSearchParams(QUERY)),
    client_device_id: 'neighbour',
  });
  t.context = { server, neighbour, said: { times: 0 } };
});

/** Another client speaks during each attack. */
test.beforeEach(t => {
  t.context.neighbour.socket.send(SAID);
  t.context.said.times += 1;
});

test.after.always('the neighbour gets every word, and no other connection remains', async t => {
  const { server, neighbour, said } = t.context;
  neighbour.socket.send(SAID);
  await neighbour.until('segments', () => neighbour.segments().length === said.times + 1);
  t.is(neighbour.socket.readyState, neighbour.socket.OPEN);
  await eventually(async () => (await openStreams(server)) === 1);
  neighbour.socket.close();
  await server.stop();
});

async function openStreams(server: TestServer): Promise<number> {
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^earshot_streams_open\{codec="pcm16"\} (\d+)$/m.exec(metrics)?.[1]);
}

/** Waits for the stored text of the conversation. */
async function storedText(server: TestServer, raw: RawSocket): Promise<string> {
  const id = /"conversation_id":"([^"]+)"/.exec(raw.received())?.[1];
  let texts: string[] = [];
  await eventually(async () => {
    const { body } = await server.get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
    texts = (body as { transcript_segments: { text: string }[] }).transcript_segments.map(({ text }) => text);
    return texts.length > 0;
  });
  return texts.join('; ');
}

const BAD_UTF8 = Buffer.from([0xce, 0xba, 0xed, 0xa0, 0x80]);
const { continuation, text, binary, close, ping, pong } = OPCODE;

const ATTACKS: { title: string; frames: Frame[]; code: number }[] = [
  ...[1, 2, 4, 7].map(reserved => ({
    title: `reserved bits ${reserved}`,
    frames: [{ opcode: binary, reserved, payload: 'abc' }],
    code: 1002,
  })),
  ...[3, 7, 11, 15].map(opcode => ({
    title: `opcode ${opcode}`,
    frames: [{ opcode, payload: 'abc' }],
    code: 1002,
  })),
  ...[close, ping, pong].flatMap(opcode => [
    { title: `a fragmented control frame ${opcode}`, frames: [{ opcode, fin: false }], code: 1002 },
    { title: `a long control frame ${opcode}`, frames: [{ opcode, payload: 'a'.repeat(126) }], code: 1002 },
  ]),
  {
    title: 'a frame without a mask',
    frames: [{ opcode: binary, payload: 'abc', masked: false }],
    code: 1002,
  },
  { title: 'a continuation without a start', frames: [{ opcode: continuation, payload: 'abc' }], code: 1002 },
  {
    title: 'a message within a message',
    frames: [
      { opcode: binary, fin: false, payload: 'abc' },
      { opcode: text, payload: '{}' },
    ],
    code: 1002,
  },
  { title: 'text that is not UTF-8', frames: [{ opcode: text, payload: BAD_UTF8 }], code: 1007 },
  {
    title: 'fragments that together are not UTF-8',
    frames: [
      { opcode: text, fin: false, payload: BAD_UTF8.subarray(0, 3) },
      { opcode: continuation, payload: BAD_UTF8.subarray(3) },
    ],
    code: 1007,
  },
  {
    title: 'a message that is too large',
    frames: [{ opcode: binary, payload: Buffer.alloc(1024 * KiB + 1) }],
    code: 1009,
  },
  {
    title: 'fragments that are too large together',
    frames: Array.from({ length: 1025 }, (_, i) => ({
      opcode: i === 0 ? binary : continuation,
      fin: false,
      payload: Buffer.alloc(KiB),
    })),
    code: 1009,
  },
  { title: 'a length of 2^63', frames: [{ opcode: binary, length: 2n ** 63n }], code: 1009 },
  { title: 'a length of 2^62', frames: [{ opcode: text, length: 2n ** 62n }], code: 1009 },
  ...[0, 999, 1004, 1005, 1006, 1015, 2000, 5000, 65_535].map(code => ({
    title: `a close frame with code ${code}`,
    frames: [{ opcode: close, payload: closing(code) }],
    code: 1002,
  })),
  { title: 'a close frame of one byte', frames: [{ opcode: close, payload: 'a' }], code: 1002 },
  {
    title: 'a close frame whose reason is not UTF-8',
    frames: [{ opcode: close, payload: closing(1000, BAD_UTF8) }],
    code: 1007,
  },
];

for (const { title, frames, code } of ATTACKS)
  test(`${title} closes with ${code}`, async t => {
    const { server } = t.context;
    const raw = await openRawListen(
      server.url,
      server.key,
      `${QUERY}&client_device_id=${encodeURIComponent(title)}`,
    );
    for (const frame of frames) raw.socket.write(encodeFrame(frame));
    await raw.ended;
    t.is(raw.closeCode(), code);
    raw.socket.destroy();
  });

test('speech before an attack is stored', async t => {
  const { server } = t.context;
  const query = `${QUERY}&client_device_id=attacker`;
  const raw = await openRawListen(server.url, server.key, query);
  await eventually(() => raw.received().includes('conversation_session'));
  raw.socket.write(encodeFrame({ opcode: binary, payload: SAID }));
  raw.socket.write(encodeFrame({ opcode: 3 }));
  await raw.ended;
  raw.socket.destroy();
  t.regex(await storedText(server, raw), WORDS);
});

test('an honest client may split a message into any number of fragments', async t => {
  const { server } = t.context;
  const raw = await openRawListen(server.url, server.key, `${QUERY}&client_device_id=pieces`);
  for (const [at, letter] of [...'{"type":"finish_conversation"}'].entries()) {
    const payload = letter;
    raw.socket.write(encodeFrame({ opcode: at === 0 ? text : continuation, fin: letter === '}', payload }));
    raw.socket.write(encodeFrame({ opcode: ping, payload: letter }));
  }
  await eventually(() => raw.received().includes('conversation_finished'));
  raw.socket.write(encodeFrame({ opcode: close, payload: closing(1000, 'bye') }));
  await raw.ended;
  t.is(raw.closeCode(), 1000);
  raw.socket.destroy();
});

test('the last words of a client that half-closes its connection are stored', async t => {
  const { server } = t.context;
  const raw = await openRawListen(server.url, server.key, `${QUERY}&client_device_id=half`);
  await eventually(() => raw.received().includes('conversation_session'));
  raw.socket.write(encodeFrame({ opcode: binary, payload: SAID }));
  raw.socket.end();
  await raw.ended;
  t.regex(await storedText(server, raw), WORDS);
  raw.socket.destroy();
});

const HANDSHAKES: { title: string; headers: Record<string, string>; status: number }[] = [
  { title: 'another version', headers: { 'Sec-WebSocket-Version': '7' }, status: 400 },
  { title: 'no version', headers: { 'Sec-WebSocket-Version': '' }, status: 400 },
  { title: 'an invalid key', headers: { 'Sec-WebSocket-Key': 'abc' }, status: 400 },
  { title: 'an empty key', headers: { 'Sec-WebSocket-Key': '' }, status: 400 },
  { title: 'an upgrade to another protocol', headers: { Upgrade: 'smtp' }, status: 426 },
  { title: 'an invalid list of protocols', headers: { 'Sec-WebSocket-Protocol': 'a,a' }, status: 400 },
  { title: 'a key of another server', headers: { Authorization: 'Bearer omi_dev_0' }, status: 401 },
];

for (const { title, headers, status } of HANDSHAKES)
  test(`a handshake with ${title} is answered with ${status}`, async t => {
    const { server } = t.context;
    const raw = await openRaw(server.url, upgradeRequest(server.key, QUERY, headers));
    await raw.ended;
    const [head, body = ''] = raw.received().split('\r\n\r\n');
    t.regex(head ?? '', new RegExp(`^HTTP/1.1 ${status} `));
    t.is(typeof JSON.parse(body).detail, 'string', raw.received());
    raw.socket.destroy();
  });

test.serial('a handshake that never ends is aborted', async t => {
  const { server } = t.context;
  const raw = await openRaw(server.url, upgradeRequest(server.key, QUERY).slice(0, -2));
  await raw.ended;
  t.regex(raw.received(), /^HTTP\/1.1 408 /);
  raw.socket.destroy();
});

test('a thousand connections of one byte are accepted, closed, and keep nobody out', async t => {
  const { server } = t.context;
  const crowd: RawSocket[] = [];
  // No more at once than the kernel queues for a busy server: it would refuse further ones unseen.
  while (crowd.length < 1000)
    crowd.push(...(await Promise.all(Array.from({ length: 250 }, () => openRaw(server.url, 'G')))));
  const client = await connectListen(server.url, server.key, { codec: 'pcm16', client_device_id: 'late' });
  await client.until('service_status', event => event.status === 'ready');
  client.socket.close();
  await Promise.all(crowd.map(({ ended }) => ended));
  const late = crowd.filter(raw => raw.received().startsWith('HTTP/1.1 408 '));
  const givenWay = crowd.filter(raw => raw.received() === '');
  t.true(late.length > 0 && givenWay.length > 0, 'the oldest gave way to newer ones of their address');
  t.is(late.length + givenWay.length, crowd.length);
  for (const { socket } of crowd) socket.destroy();
});
