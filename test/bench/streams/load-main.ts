/** The load generator: pendants that stream in real time, and the arrival times of their words. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import { SAMPLE_RATE } from '../../../core/audio/pcm.ts';
import type { WireSegment } from '../../../core/listen/protocol.ts';
import { random } from '../../helpers/sound.ts';
import { percentile } from '../benchmark.ts';
import { type Plan, TAIL_MS, type Told } from './load.ts';
import { newestOf, sentenceEnds, withoutText } from './sentences.ts';
import { FRAME_MS, FRAME_SAMPLES, type Loop, makeLoop } from './speech.ts';

interface Stream {
  socket: WebSocket;
  /** Packet of the loop with which it starts. */
  offset: number;
  dueAt: number;
  /** When each packet was sent. */
  sentAt: number[];
  /** Number of disconnects by the server. */
  losses: number;
  /** Received utterances: the sample at which each ended, and its delay after sending. */
  heard: { endSample: number; afterMs: number }[];
}

/** Utterances within this distance of the longest one may have been cut at a much earlier sample. */
const MAX_NATURAL_SAMPLES = 26 * SAMPLE_RATE;
const CONNECT_AT_ONCE = 20;
/** The bridge's reconnect delays, without the last. */
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 4000;

process.once('message', (plan: Plan) => {
  run(plan).then(() => process.exit(0));
});

async function run(plan: Plan): Promise<void> {
  const loop = makeLoop(plan.share);
  const streams = await connectAll(plan, loop);
  const lags: number[] = [];
  const stop = sendOn(streams, loop, lags);
  await sleep(plan.warmMs);
  const from = performance.now();
  tell({ event: 'begin' });
  await sleep(plan.measureMs);
  const to = performance.now();
  tell({ event: 'end' });
  const lagP99 = percentile(lags, 99);
  await sleep(TAIL_MS);
  stop();
  tell({ event: 'heard', ...judge(streams, loop, from, to), lagP99 });
}

function tell(message: Told): void {
  process.send?.(message);
}

async function connectAll(plan: Plan, loop: Loop): Promise<Stream[]> {
  const { streams: count, seed } = plan;
  const next = random(seed);
  const streams: Stream[] = [];
  while (streams.length < count) {
    const some = Array.from({ length: Math.min(CONNECT_AT_ONCE, count - streams.length) }, (_, at) =>
      connect(plan, streams.length + at, Math.floor(((next() + 1) / 2) * loop.packets.length)),
    );
    streams.push(...(await Promise.all(some)));
  }
  const now = performance.now();
  for (const stream of streams) stream.dueAt = now + ((next() + 1) / 2) * FRAME_MS;
  return streams;
}

async function connect(plan: Plan, number: number, offset: number): Promise<Stream> {
  const stream: Stream = {
    socket: openSocket(plan, number),
    offset,
    dueAt: 0,
    sentAt: [],
    losses: 0,
    heard: [],
  };
  await join(stream, plan, number);
  return stream;
}

async function join(stream: Stream, plan: Plan, number: number): Promise<void> {
  const { socket } = stream;
  socket.on('message', data => {
    const json: unknown = JSON.parse(String(data));
    if (Array.isArray(json)) for (const segment of json) note(stream, segment);
  });
  await once(socket, 'open');
  socket.on('close', (code, reason) => {
    if (!plan.reconnects) throw new Error(`the server closed stream ${number} with ${code} ${reason}`);
    setTimeout(
      () => {
        stream.socket = openSocket(plan, number);
        void join(stream, plan, number);
      },
      Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** stream.losses++),
    );
  });
}

function openSocket({ url, key, languages = [], reconnects }: Plan, number: number): WebSocket {
  const language = languages[number % languages.length] ?? 'en';
  const device = `pendant_${language}_${number}`;
  const address = new URL('/v4/listen?codec=opus_fs320&conversation_timeout=600', url.replace(/^http/, 'ws'));
  address.searchParams.set('client_device_id', device);
  address.searchParams.set('language', language);
  if (reconnects) address.searchParams.set('stream', `${device}_${process.pid}`);
  return new WebSocket(address, {
    headers: { Authorization: `Bearer ${key}` },
    perMessageDeflate: false,
  });
}

function note(stream: Stream, segment: WireSegment): void {
  const { startSample, endSample } = newestOf(segment);
  if (endSample - startSample > MAX_NATURAL_SAMPLES) return;
  const sentAt = stream.sentAt[Math.ceil(endSample / FRAME_SAMPLES) - 1];
  if (sentAt !== undefined) stream.heard.push({ endSample, afterMs: performance.now() - sentAt });
}

/** Each stream sends a packet every 20 ms, at its own phase. */
function sendOn(streams: readonly Stream[], { packets }: Loop, lags: number[]): () => void {
  let isOver = false;
  const tick = () => {
    if (isOver) return;
    const now = performance.now();
    for (const stream of streams) while (stream.dueAt <= now) sendNext(stream, packets, lags);
    setTimeout(tick, 1);
  };
  tick();
  return () => {
    isOver = true;
  };
}

function sendNext(stream: Stream, packets: readonly Uint8Array[], lags: number[]): void {
  const { socket, sentAt, offset } = stream;
  const packet = packets[(offset + sentAt.length) % packets.length];
  const now = performance.now();
  if (packet && socket.readyState === socket.OPEN) socket.send(packet);
  lags.push(now - stream.dueAt);
  sentAt.push(now);
  stream.dueAt += FRAME_MS;
}

/** Evaluates the utterances between two times. */
function judge(streams: readonly Stream[], loop: Loop, from: number, to: number) {
  const during = (stream: Stream, sample: number) => {
    const at = stream.sentAt[Math.ceil(sample / FRAME_SAMPLES) - 1] ?? Number.NaN;
    return at >= from && at < to;
  };
  const latencies = streams.flatMap(stream =>
    stream.heard.filter(({ endSample }) => during(stream, endSample)).map(({ afterMs }) => afterMs),
  );
  const missing = streams.flatMap(stream => {
    const { offset, sentAt, heard } = stream;
    const ends = sentenceEnds(loop, { offset, packets: sentAt.length });
    const found = heard.map(({ endSample }) => endSample);
    return withoutText(
      ends.filter(end => during(stream, end)),
      found,
    );
  });
  return { latencies, missing: missing.length };
}
