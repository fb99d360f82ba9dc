/**
 * The floor of a live server: `ws`, one Opus decoder per socket, and nothing else; with `detector` the same
 * speech detector also evaluates every window.
 */
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { createDecoder } from '../../../core/audio/codecs.ts';
import { createSampleBuffer } from '../../../core/audio/sample-buffer.ts';
import type { VadProvider } from '../../../core/contract/plugin.ts';
import silero from '../../../plugins/vad/silero/index.ts';

const FORMAT = { codec: 'opus_fs320', sampleRate: 16_000, channels: 1 } as const;
const detector = process.argv.includes('detector') ? await openDetector() : null;
const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });

server.on('connection', async socket => {
  socket.pause();
  const decoder = await createDecoder(FORMAT);
  const judge = detector ? judgeWith(detector) : () => {};
  let turn: Promise<unknown> = Promise.resolve();
  socket.on('message', (data: Buffer) => {
    turn = turn.then(async () => judge((await decoder.decode(data)).pcm));
  });
  socket.on('close', () => turn.then(() => decoder.close()));
  socket.resume();
});
server.on('listening', () =>
  process.send?.({ event: 'listening', port: (server.address() as AddressInfo).port }),
);

function judgeWith(vad: VadProvider): (pcm: Int16Array) => void {
  const session = vad.open();
  const audio = createSampleBuffer(0);
  let judged = 0;
  return pcm => {
    audio.append(pcm);
    const windows = Math.floor((audio.end - judged) / vad.windowSize);
    if (windows === 0) return;
    const to = judged + windows * vad.windowSize;
    void session.probabilities(audio.slice(judged, to));
    audio.release(to);
    judged = to;
  };
}

async function openDetector(): Promise<VadProvider> {
  const { z } = await import('zod');
  const schema = silero.options?.(z);
  if (!schema) throw new Error('the detector has no options');
  const fail = (error: Error) => {
    throw error;
  };
  const context = {
    options: schema.parse({}),
    error: (_: string, message: string) => new Error(message),
    fail,
    onStop() {},
  };
  const { vad } = await silero.setup(context as unknown as Parameters<typeof silero.setup>[0]); // all that it uses
  if (!vad) throw new Error('the detector is none');
  return vad;
}
