/** Recognition servers on real WebSockets, written from their public documents. They recognise SPEECH. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { hear } from './known-speech.ts';
import { untrusted } from './local-server.ts';

export type Protocol = 'vosk' | 'custom-stt' | 'deepgram';
/** Fault of the server. `goes-away` and `ends-early` close at the first audio, `ends-unanswered` at its end. */
export type Fault =
  | 'mute'
  | 'deaf'
  | 'garbage'
  | 'huge'
  | 'refuses'
  | 'hangs-up'
  | 'goes-away'
  | 'ends-early'
  | 'ends-unanswered';

export interface SttServer {
  url: string;
  port: number;
  fault: Fault | null;
  /** Upgrade request of each connection, in order. */
  requests: { url: URL; headers: IncomingMessage['headers'] }[];
  /** Text messages of clients, in order. */
  said: string[];
  /** Cuts the connection that carries audio, or the next one that does. */
  crash(): void;
  /** Resolves once a client's text message contains this. */
  heard(part: string): Promise<void>;
  close(): Promise<void>;
}

interface Caller {
  socket: WebSocket;
  pcm: Buffer[];
  /** Bytes of earlier utterances. */
  before: number;
}

export async function startSttServer(
  protocol: Protocol,
  { tls = false, port = 0 }: { tls?: boolean; port?: number } = {},
): Promise<SttServer> {
  const http = tls ? createTlsServer(untrusted) : createServer();
  const upgrades = new WebSocketServer({ noServer: true });
  const callers: Caller[] = [];
  const watchers = new Set<() => void>();
  let crashing = false;
  http.on('upgrade', (request, socket, head) => {
    server.requests.push({ url: new URL(request.url ?? '', 'ws://host'), headers: request.headers });
    socket.on('error', () => undefined); // a client may hang up at any time
    if (server.fault === 'refuses')
      return void socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    if (server.fault === 'hangs-up') return void socket.destroy();
    upgrades.handleUpgrade(request, socket, head, ws => {
      if (server.fault === 'deaf') socket.pause();
      accept(ws);
    });
  });
  http.listen(port, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address() as AddressInfo;
  const server: SttServer = {
    url: `${tls ? 'wss' : 'ws'}://127.0.0.1:${address.port}`,
    port: address.port,
    fault: null,
    requests: [],
    said: [],
    crash() {
      const busy = callers.find(({ socket, pcm }) => pcm.length > 0 && socket.readyState === socket.OPEN);
      if (busy) busy.socket.terminate();
      else crashing = true;
    },
    heard(part) {
      return new Promise(resolve => {
        const look = () => {
          if (!server.said.some(text => text.includes(part))) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      });
    },
    async close() {
      for (const { socket } of callers) socket.terminate();
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
  return server;

  function accept(socket: WebSocket): void {
    const caller: Caller = { socket, pcm: [], before: 0 };
    callers.push(caller);
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) audio(caller, data);
      else text(caller, data.toString());
    });
  }

  function audio(caller: Caller, data: Buffer): void {
    caller.pcm.push(data);
    if (crashing) {
      crashing = false;
      caller.socket.terminate();
      return;
    }
    if (server.fault === 'garbage') caller.socket.send('no JSON at all');
    if (server.fault === 'huge') caller.socket.send(' '.repeat(1024 * 1024 + 1));
    if (server.fault === 'goes-away') caller.socket.close(1001);
    if (server.fault === 'ends-early') caller.socket.close(1000);
    if (server.fault !== null) return;
    if (protocol === 'vosk') caller.socket.send('{"partial" : ""}');
    if (protocol === 'deepgram') caller.socket.send(results(caller, 'not yet', false));
    if (protocol === 'custom-stt') caller.socket.send('{"type":"Status","load":0.1}');
  }

  function text(caller: Caller, said: string): void {
    server.said.push(said);
    for (const look of [...watchers]) look();
    if (server.fault === 'ends-unanswered' && /eof|Finalize/.test(said)) caller.socket.close(1000);
    if (server.fault !== null) return;
    const { socket } = caller;
    const heard = hear(Buffer.concat(caller.pcm));
    const { startSeconds: start, endSeconds: end } = heard;
    if (protocol === 'vosk' && said.includes('eof')) {
      const result = heard.text === '' ? [] : [{ conf: 1, word: heard.text, start, end }];
      socket.send(JSON.stringify({ text: heard.text, ...(result.length > 0 ? { result } : {}) }));
      socket.close();
    }
    if (protocol === 'custom-stt' && said === '{"type":"CloseStream"}') {
      const segments = heard.text === '' ? [] : [{ text: heard.text, speaker: 'SPEAKER_01', start, end }];
      socket.send(JSON.stringify({ type: 'Results', segments }));
      socket.close(1000);
    }
    if (protocol !== 'deepgram') return;
    if (said.includes('Finalize')) {
      socket.send(results(caller, heard.text, true));
      caller.before += caller.pcm.reduce((sum, { length }) => sum + length, 0);
      caller.pcm = [];
    }
    if (said.includes('CloseStream')) {
      socket.send('{"type":"Metadata","duration":1}');
      socket.close(1000);
    }
  }

  function results({ pcm, before }: Caller, transcript: string, isFinal: boolean): string {
    const heard = hear(Buffer.concat(pcm));
    const offset = before / 32_000;
    const words = transcript.split(' ').map((word, at, all) => {
      const long = (heard.endSeconds - heard.startSeconds) / all.length;
      const start = offset + heard.startSeconds + at * long;
      return { word, punctuated_word: word, start, end: start + long, confidence: 1, speaker: 0 };
    });
    return JSON.stringify({
      type: 'Results',
      channel_index: [0, 1],
      start: offset,
      duration: heard.endSeconds,
      is_final: isFinal,
      speech_final: isFinal,
      from_finalize: isFinal,
      channel: { alternatives: [{ transcript, confidence: 1, words: transcript === '' ? [] : words }] },
    });
  }
}
