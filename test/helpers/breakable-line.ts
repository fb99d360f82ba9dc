/** A TCP proxy between a browser and its server that can behave like a killed server: connections end, new ones are refused. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export interface BreakableLine {
  url: string;
  /** Ends all connections, and refuses new ones. */
  cut(): Promise<void>;
  /** Cuts when the browser sends a request that contains this text; the server never gets it. */
  cutAt(request: string): void;
  /** Cuts when the server answers a request that contains this text; the browser never gets the answer. */
  cutAfter(request: string): void;
  mend(): Promise<void>;
  close(): Promise<void>;
}

export async function openBreakableLine(target: string): Promise<BreakableLine> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let deadly: string | null = null;
  let lost: string | null = null;
  let server: Server | null = await listen(0);
  const own = (server.address() as AddressInfo).port;

  async function listen(at: number): Promise<Server> {
    const opened = createServer(carry).listen(at, '127.0.0.1');
    await once(opened, 'listening');
    return opened;
  }

  function carry(browser: Socket): void {
    const core = connect(Number(port), hostname);
    for (const [from, to] of [
      [browser, core],
      [core, browser],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {}); // 'close' follows
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    let isLost = false;
    core.on('data', bytes => {
      if (isLost) void cut();
      else browser.write(bytes);
    });
    browser.on('data', bytes => {
      isLost ||= lost !== null && bytes.includes(lost);
      if (deadly !== null && bytes.includes(deadly)) void cut();
      else core.write(bytes);
    });
  }

  async function cut(): Promise<void> {
    deadly = null;
    lost = null;
    const closing = server;
    server = null;
    const closed = closing && once(closing, 'close');
    closing?.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  return {
    url: `http://127.0.0.1:${own}`,
    cut,
    cutAt(request) {
      deadly = request;
    },
    cutAfter(request) {
      lost = request;
    },
    async mend() {
      deadly = null;
      lost = null;
      server ??= await listen(own);
    },
    close: cut,
  };
}
