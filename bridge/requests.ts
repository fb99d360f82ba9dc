/** Requests of commands to a running bridge: a line of JSON over its lock socket, which only its own account can open. */
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { unixAddress } from './unix-address.ts';

const MAX_LINE_BYTES = 4096;
const LIMIT_MS = 30_000;

const text = z.string().max(200);
const Request = z.strictObject({
  /** Name of a wearable; absent: the only one. */
  device: text.optional(),
  /** Absent: lists the controls. */
  control: text.optional(),
  value: text.optional(),
});
export type BridgeRequest = z.infer<typeof Request>;

const Answer = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), lines: z.array(z.string()) }),
  z.object({ ok: z.literal(false), message: z.string() }),
]);

/** Answers one request of a connection with lines for people. @param answer may throw an error for the caller */
export async function converse(
  socket: Socket,
  answer: (request: BridgeRequest) => Promise<string[]>,
): Promise<void> {
  socket.on('error', () => {}); // the caller has disconnected
  socket.setTimeout(LIMIT_MS, () => socket.destroy());
  let bytes = 0;
  socket.on('data', chunk => {
    bytes += chunk.length;
    if (bytes > MAX_LINE_BYTES) socket.destroy();
  });
  for await (const line of createInterface({ input: socket })) {
    const answered = await answerTo(line, answer);
    socket.end(`${JSON.stringify(answered)}\n`);
    return;
  }
}

async function answerTo(
  line: string,
  answer: (request: BridgeRequest) => Promise<string[]>,
): Promise<z.infer<typeof Answer>> {
  try {
    return { ok: true, lines: await answer(Request.parse(JSON.parse(line))) };
  } catch (error) {
    const isTheirs = error instanceof z.ZodError || error instanceof SyntaxError;
    const message = isTheirs
      ? 'the request is invalid'
      : error instanceof Error
        ? error.message
        : String(error);
    return { ok: false, message };
  }
}

/** Sends a request to the bridge that runs on `dir`. @throws Error with its message, or that none is running */
export async function askBridge(dir: string, request: BridgeRequest): Promise<string[]> {
  const socket = createConnection(unixAddress(join(dir, 'lock')));
  const failed = new Promise<never>((_, reject) => {
    socket.once('error', () => reject(new Error('the bridge is not running here; start it: earshot bridge')));
    socket.setTimeout(LIMIT_MS, () => {
      socket.destroy();
      reject(new Error(`the bridge did not answer within ${LIMIT_MS / 1000} s`));
    });
  });
  const asked = (async () => {
    socket.write(`${JSON.stringify(request)}\n`);
    for await (const line of createInterface({ input: socket })) return Answer.parse(JSON.parse(line));
    throw new Error('the bridge closed the connection; does it have another version?');
  })();
  try {
    const answer = await Promise.race([asked, failed]);
    if (!answer.ok) throw new Error(answer.message);
    return answer.lines;
  } finally {
    asked.catch(() => {});
    failed.catch(() => {});
    socket.destroy();
  }
}
