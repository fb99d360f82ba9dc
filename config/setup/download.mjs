/** Fetches a file whose size and checksum are known, and goes on where an earlier try stopped. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { dirname } from 'node:path';

/** No answer to a connection within this time: there is no way to that server. */
const CONNECT_MS = 3000;
const IDLE_MS = 15_000;
const MAX_REDIRECTS = 5;
const MAX_TRIES = 4;

/**
 * @param file `url`, `size` in bytes and `sha256`
 * @param path where to; what is incomplete waits beside it as `<path>.part`
 * @param options.progress called with the bytes that are there
 * @param options.until when to stop for this time, by `performance.now()`
 * @param options.idleMs a connection that brings nothing for this long is dead
 * @throws with the reason, and `resumable` when this try brought something that the next one can go on from
 */
export async function download(file, path, { progress, until, idleMs = IDLE_MS }) {
  const part = `${path}.part`;
  const atFirst = await sizeOf(part);
  for (let tries = 1; ; tries++) {
    const before = await sizeOf(part);
    try {
      if (before < file.size) await receive(file, part, before, { progress, until, idleMs });
      break;
    } catch (error) {
      const now = await sizeOf(part);
      // A broken connection that brought something is worth another; a server that refuses is not.
      if (!error.final && tries < MAX_TRIES && now > before) continue;
      if (now === 0) await rm(part, { force: true });
      throw Object.assign(error, { resumable: now > atFirst && (!error.final || error.late === true) });
    }
  }
  const problem = await problemOf(part, file);
  if (problem !== null) {
    await rm(part, { force: true });
    throw new Error(`${file.url} ${problem}`);
  }
  await rename(part, path);
}

/** Describes the problem of a file, or returns null. */
export async function problemOf(path, { size, sha256 }) {
  const found = await sizeOf(path);
  if (found !== size) return `has ${found} bytes instead of ${size}`;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  const digest = hash.digest('hex');
  return digest === sha256 ? null : `has the SHA-256 ${digest} instead of ${sha256}`;
}

export async function sizeOf(path) {
  return (await stat(path).catch(() => ({ size: 0 }))).size;
}

async function receive(file, part, from, { progress, until, idleMs }) {
  await mkdir(dirname(part), { recursive: true, mode: 0o700 }); // it may be the first in the data directory
  // Opened first: what comes with the answer is lost when nobody reads it before the connection breaks.
  const out = await open(part, 'a');
  try {
    const response = await request(file.url, {
      headers: from > 0 ? { range: `bytes=${from}-` } : {},
      idleMs,
    });
    let received = await startAt(response, from, out, file.url);
    for await (const chunk of response) {
      received += chunk.length;
      if (received > file.size) throw final(`${file.url} has more than ${file.size} bytes`);
      await out.appendFile(chunk);
      progress(received);
      if (performance.now() > until) throw Object.assign(final('it takes too long'), { late: true });
    }
    if (received < file.size) throw new Error(`${file.url} ended after ${received} of ${file.size} bytes`);
  } finally {
    await out.close();
  }
}

/** Where the answer goes on: where we asked it to, or, from a server that cannot do so, at the beginning. */
async function startAt(response, from, out, url) {
  const start = response.statusCode === 206 ? startOf(response.headers['content-range']) : 0;
  if (start === from) return from;
  if (start !== 0) throw final(`${url} answered with another part than was asked for`);
  await out.truncate(0);
  return 0;
}

async function request(url, options, redirects = 0) {
  const response = await connect(url, options);
  const { statusCode } = response;
  if (statusCode === 200 || statusCode === 206) return response;
  response.resume();
  const { location } = response.headers;
  if (statusCode >= 300 && statusCode < 400 && location !== undefined && redirects < MAX_REDIRECTS) {
    return request(new URL(location, url).href, options, redirects + 1);
  }
  throw final(`${url} answered with ${statusCode}`);
}

function connect(url, { headers, idleMs }) {
  return new Promise((resolve, reject) => {
    const { host, protocol } = new URL(url);
    const fail = reason => reject(new Error(`${host} ${reason}`));
    const get = protocol === 'http:' ? httpGet : httpsGet;
    const request = get(url, { headers, timeout: idleMs, agent: false }, answer => {
      response = answer;
      resolve(answer);
    });
    let response;
    let isConnected = false;
    const giveUp = () => {
      if (isConnected) return;
      fail(`did not answer within ${CONNECT_MS / 1000} s`);
      request.destroy();
    };
    // On a busy machine the answer may be there already, and this process late: it is read first.
    const deadline = setTimeout(() => setImmediate(giveUp), CONNECT_MS);
    const connected = () => {
      isConnected = true;
      clearTimeout(deadline);
    };
    request.on('socket', socket =>
      socket.once(protocol === 'http:' ? 'connect' : 'secureConnect', connected),
    );
    request.on('timeout', () => {
      const { socket } = request;
      const before = socket.bytesRead;
      // The same holds here. What is read starts the time anew.
      setImmediate(() => {
        if (socket.bytesRead > before) return;
        const reason = `sent nothing for ${idleMs / 1000} s`;
        if (response) response.destroy(new Error(`${host} ${reason}`));
        else request.destroy(new Error(reason));
      });
    });
    request.on('error', error => fail(`cannot be reached: ${error.message}`));
    request.on('close', connected);
  });
}

function startOf(contentRange) {
  return Number(/^bytes (\d+)-/.exec(contentRange ?? '')?.[1] ?? Number.NaN);
}

function final(message) {
  return Object.assign(new Error(message), { final: true });
}
