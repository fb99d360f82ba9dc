import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { download } from '../../../config/setup/download.mjs';

const HALF = Buffer.alloc(50_000, 'earshot ');
const BYTES = Buffer.concat([HALF, HALF]);
const [ASKED, SENT, REQUESTS] = [0, 1, 2];
/**
 * A server that sends half of a file, and the rest when told through shared memory. It runs on its own
 * thread, so that it can send while the download's thread is busy.
 */
const SERVER = `
  const { createServer } = require('node:http');
  const { parentPort, workerData: { state, half } } = require('node:worker_threads');
  const server = createServer((_, response) => {
    Atomics.add(state, ${REQUESTS}, 1);
    response.write(half);
    Promise.resolve(Atomics.waitAsync(state, ${ASKED}, 0).value).then(() =>
      response.end(half, () => {
        Atomics.store(state, ${SENT}, 1);
        Atomics.notify(state, ${SENT});
      }),
    );
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;

async function serve(t: ExecutionContext) {
  const state = new Int32Array(new SharedArrayBuffer(12));
  const worker = new Worker(SERVER, { eval: true, workerData: { state, half: HALF } });
  t.teardown(() => worker.terminate());
  const [port] = await once(worker, 'message');
  const directory = await mkdtemp(join(tmpdir(), 'earshot-download-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const file = {
    url: `http://127.0.0.1:${port}/model`,
    size: BYTES.length,
    sha256: createHash('sha256').update(BYTES).digest('hex'),
  };
  return { state, file, path: join(directory, 'model') };
}

test('aborts a stalled connection', async t => {
  const { file, path } = await serve(t);
  const options = { progress: () => {}, until: Infinity, idleMs: 100 };
  await t.throwsAsync(download(file, path, options), { message: /sent nothing for 0\.1 s/ });
});

test('keeps data that arrived while this process was busy, for longer than a connection may be silent', async t => {
  const { state, file, path } = await serve(t);
  const idleMs = 500;
  let isHeldUp = false;
  const progress = (bytes: number) => {
    if (bytes < HALF.length || isHeldUp) return;
    isHeldUp = true;
    Atomics.store(state, ASKED, 1);
    Atomics.notify(state, ASKED);
    Atomics.wait(state, SENT, 0);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * idleMs);
  };
  await download(file, path, { progress, until: Infinity, idleMs });
  t.true(isHeldUp);
  t.true((await readFile(path)).equals(BYTES));
  t.is(Atomics.load(state, REQUESTS), 1);
});
