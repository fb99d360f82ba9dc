/** Attacks on `/v4/listen` that once delayed other clients or exhausted the server's memory or disk. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SAMPLE_RATE, samplesToBytes } from '../../../core/audio/pcm.ts';
import { encodeFrame, OPCODE, upgradeRequest } from '../../helpers/raw-socket.ts';
import { atRms, pinkNoise } from '../../helpers/sound.ts';
import type { Attack, Count, Target } from './attack.ts';

const LISTEN = '/v4/listen';
const WEB = '/v4/web/listen';
const KiB = 1024;
const MiB = 1024 * KiB;
/** A frame of 20 ms of silence. */
const AUDIO = encodeFrame({ opcode: OPCODE.binary, payload: Buffer.alloc(640) });
const AUDIO_EVERY_MS = 20;
const EMPTY = encodeFrame({ opcode: OPCODE.binary });
const EMPTIES = Buffer.concat(Array(10_000).fill(EMPTY));
const EMPTIES_EVERY_MS = (1000 * EMPTIES.length) / 2_600_000;

/** Multiple of real time. */
const FLOOD_SPEED = 100;
const FLOODS_A_SECOND = 50;

export const LISTEN_ATTACKS: Attack[] = [
  {
    name: 'same-stream',
    title: '1600 connections at once that name one stream',
    attack: (target, count) => hold(target, 1600, count, LISTEN, () => 'stream=walk', silent),
    honest: (target, count) => hold(target, 40, count, LISTEN, at => `stream=${at}`, speak),
  },
  {
    name: 'empty-frames',
    title: 'ten connections with 2.6 MB/s of empty frames each',
    attack: (target, count) => hold(target, 10, count, LISTEN, deviceOf, repeat(EMPTIES, EMPTIES_EVERY_MS)),
    honest: (target, count) => hold(target, 10, count, LISTEN, deviceOf, catchUp(FLOOD_SPEED)),
  },
  {
    name: 'fragments',
    title: 'ten connections with as many pings and empty fragments as they can send',
    attack: (target, count) => hold(target, 10, count, LISTEN, deviceOf, repeat(fragments(), 20)),
    honest: (target, count) => hold(target, 10, count, LISTEN, deviceOf, catchUp(FLOOD_SPEED)),
  },
  {
    name: 'unfinished',
    title: '1900 connections that have not signed in, with an unfinished message of 1 MiB',
    attack: (target, count) =>
      hold(
        target,
        1900,
        count,
        WEB,
        () => '',
        socket =>
          socket.write(
            encodeFrame({ opcode: OPCODE.text, fin: false, payload: Buffer.alloc(MiB - KiB, 'x') }),
          ),
      ),
    honest: (target, count) => hold(target, 20, count, LISTEN, deviceOf, speak),
  },
  {
    name: 'silent',
    title: '2000 TCP connections that send nothing',
    attack: (target, count) => hold(target, 2000, count, null, () => '', silent),
    honest: (target, count) => hold(target, 20, count, LISTEN, deviceOf, speak),
  },
  {
    name: 'unread',
    title: '50 connections that ask and do not read what they are answered',
    attack: (target, count) =>
      hold(target, 50, count, LISTEN, deviceOf, socket => {
        socket.pause();
        return repeat(
          Buffer.concat(Array(1000).fill(encodeFrame({ opcode: OPCODE.text, payload: '{' }))),
          100,
        )(socket);
      }),
    honest: (target, count) => hold(target, 50, count, LISTEN, deviceOf, catchUp(3)),
  },
  {
    name: 'disk',
    title:
      'ten connections whose sound comes 100 times as fast as it is spoken, until the disk space of their account is full',
    config: kind => (kind === 'attack' ? { listen: { spool: { maxBytesPerUser: 64 * MiB } } } : {}),
    attack: (target, count) => hold(target, 10, count, LISTEN, deviceOf, catchUp(FLOOD_SPEED)),
    honest: (target, count) => hold(target, 10, count, LISTEN, deviceOf, catchUp(FLOOD_SPEED)),
  },
  {
    name: 'commands',
    title: 'ten connections with as many JSON messages of each kind as they can send',
    attack: (target, count) => hold(target, 10, count, LISTEN, customStt, repeat(commands(), 50)),
    honest: (target, count) => hold(target, 10, count, LISTEN, deviceOf, catchUp(FLOOD_SPEED)),
  },
];

const deviceOf = (at: number) => `client_device_id=${at}`;
const customStt = (at: number) => `${deviceOf(at)}&custom_stt=enabled`;
const silent = () => {};
const speak = (socket: Socket) => repeat(AUDIO, AUDIO_EVERY_MS)(socket);

/** Sends stored audio like an honest client after an interruption: as many bytes as the attack sends. */
function catchUp(speed: number) {
  return repeat(noise(speed / FLOODS_A_SECOND), 1000 / FLOODS_A_SECOND);
}

/** Frames of 100 ms, or of one shorter piece. */
function noise(seconds: number): Buffer {
  const samples = samplesToBytes(atRms(-30, pinkNoise(seconds)));
  const frameBytes = Math.min(samples.length, 2 * (SAMPLE_RATE / 10));
  const frames = Array.from({ length: samples.length / frameBytes }, (_, at) =>
    encodeFrame({
      opcode: OPCODE.binary,
      payload: Buffer.from(samples.subarray(at * frameBytes, (at + 1) * frameBytes)),
    }),
  );
  return Buffer.concat(frames);
}

/** An endless message, with a ping after each of its fragments. */
function fragments(): Buffer {
  const one = [
    encodeFrame({ opcode: OPCODE.continuation, fin: false }),
    encodeFrame({ opcode: OPCODE.ping, payload: 'x' }),
  ];
  const begin = encodeFrame({ opcode: OPCODE.text, fin: false, payload: '{' });
  const end = encodeFrame({ opcode: OPCODE.continuation });
  return Buffer.concat([begin, ...Array(4000).fill(one).flat(), end]);
}

function commands(): Buffer {
  const segment = { text: 'Tea at seven, said Eve.', speaker: 'SPEAKER_00', start: 1, end: 2 };
  const suggested = { type: 'suggested_transcript', stt_provider: 'x', segments: Array(500).fill(segment) };
  const messages = [
    suggested,
    { ...suggested, segments: Array(100_000).fill({}) },
    { type: 'gap', ms: 86_400_000 },
    { type: 'image_chunk', id: 'x', index: 0, total: 1, data: 'x'.repeat(MiB / 2) },
    { type: 'speaker_assigned', segment_ids: Array(50_000).fill('x') },
    { type: 'finish_conversation' },
  ];
  return Buffer.concat(
    messages.map(message => encodeFrame({ opcode: OPCODE.text, payload: JSON.stringify(message) })),
  );
}

/** Sends at each interval while the server reads. */
function repeat(bytes: Buffer, everyMs: number) {
  return async (socket: Socket) => {
    while (!socket.destroyed) {
      if (!socket.write(bytes)) await drained(socket);
      await sleep(everyMs);
    }
  };
}

function drained(socket: Socket): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.once('drain', done).once('close', done);
  });
}

/** Keeps this many connections open: reopens one that the server closes or refuses. */
async function hold(
  { url, key }: Target,
  connections: number,
  count: Count,
  path: string | null,
  queryOf: (at: number) => string,
  use: (socket: Socket) => unknown,
): Promise<void> {
  const query = 'codec=pcm16&sample_rate=16000&conversation_timeout=600';
  const open = (at: number) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
      if (path !== null) socket.write(upgradeRequest(key, `${query}&${queryOf(at)}`, {}, path));
      else count('connected');
    });
    socket.on('error', () => socket.destroy());
    socket.once('data', chunk => {
      const status = String(chunk).split(' ', 2)[1] ?? 'no answer';
      count(status);
      if (status === '101') void use(socket);
    });
    socket.resume();
    socket.once('close', () => setTimeout(() => open(at), 1000));
  };
  for (let at = 0; at < connections; at++) {
    open(at);
    if (at % 20 === 0) await sleep(10);
  }
}
