/**
 * Runs garbage collections in another process through Node's inspector, so that only retained memory remains.
 */
import { once } from 'node:events';
import WebSocket from 'ws';

export interface Collector {
  collect(): Promise<void>;
  close(): void;
}

/** @param port of the process, which was started with `--inspect=127.0.0.1:<port>` */
export async function openCollector(port: number): Promise<Collector> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await answer.json()) as [{ webSocketDebuggerUrl: string }]; // a process has one
  const socket = new WebSocket(target.webSocketDebuggerUrl, { perMessageDeflate: false });
  await once(socket, 'open');
  let calls = 0;
  return {
    async collect() {
      calls += 1;
      socket.send(JSON.stringify({ id: calls, method: 'HeapProfiler.collectGarbage' }));
      await once(socket, 'message');
    },
    close: () => socket.terminate(),
  };
}
