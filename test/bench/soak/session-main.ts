/** A recorder that uploads hours at once: one connection, as fast as the server reads. */
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import WebSocket from 'ws';
import { newestOf, sentenceEnds, withoutText } from '../streams/sentences.ts';
import { FRAME_MS, makeLoop } from '../streams/speech.ts';

export interface SessionPlan {
  url: string;
  key: string;
  minutes: number;
  /** Share of the time with speech. */
  share: number;
}

/** Utterances that became text, and sentences that did not. */
export interface SessionTold {
  event: 'over';
  texts: number;
  missing: number;
}

const MAX_UNSENT_BYTES = 64 * 1024;
/** A client that is silent for 90 s is disconnected, even if it waits for its text. */
const KEEP_ALIVE_MS = 30_000;

process.once('message', (plan: SessionPlan) => {
  run(plan).then(told => process.send?.(told, () => process.exit(0)));
});

async function run({ url, key, minutes, share }: SessionPlan): Promise<SessionTold> {
  const loop = makeLoop(share);
  const packets = (minutes * 60_000) / FRAME_MS;
  const socket = openSocket(url, key, Date.now() - minutes * 60_000);
  const heardEnds: number[] = [];
  const finished = Promise.withResolvers<void>();
  socket.on('close', (code, reason) =>
    finished.reject(new Error(`the server closed with ${code} ${reason}`)),
  );
  socket.on('message', data => {
    const json = JSON.parse(String(data));
    if (Array.isArray(json)) for (const segment of json) heardEnds.push(newestOf(segment).endSample);
    else if (json.type === 'conversation_finished') finished.resolve();
  });
  await once(socket, 'open');
  for (let sent = 0; sent < packets; sent++) {
    socket.send(loop.packets[sent % loop.packets.length] ?? '');
    while (socket.bufferedAmount > MAX_UNSENT_BYTES) await turn();
  }
  socket.send(JSON.stringify({ type: 'finish_conversation' }));
  const alive = setInterval(() => socket.send(Buffer.alloc(1)), KEEP_ALIVE_MS);
  await finished.promise;
  clearInterval(alive);
  const missing = withoutText(sentenceEnds(loop, { offset: 0, packets }), heardEnds);
  return { event: 'over', texts: heardEnds.length, missing: missing.length };
}

function openSocket(url: string, key: string, startedAt: number): WebSocket {
  const address = new URL('/v4/listen?codec=opus_fs320&conversation_timeout=600', url.replace(/^http/, 'ws'));
  address.searchParams.set('client_device_id', 'recorder_1');
  address.searchParams.set('started_at', new Date(startedAt).toISOString());
  return new WebSocket(address, { headers: { Authorization: `Bearer ${key}` }, perMessageDeflate: false });
}
