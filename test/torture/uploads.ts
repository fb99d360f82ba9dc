/**
 * Photos and voice messages of two accounts, in random chunks, some of them invalid, while the server is
 * killed.
 */
import { readdir } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { Transformer } from '@napi-rs/image';
import { encodeWav } from '../../core/audio/pcm.ts';
import { callControl, controlPath } from '../../core/control/control.ts';
import { memoryOf } from '../bench/processes.ts';
import { type CoreProcess, coreProcess } from '../helpers/core-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../helpers/listen-client.ts';
import { mutator } from '../helpers/mutations.ts';
import { join as joined, silence, speech } from '../helpers/sound.ts';
import { createDice, type Dice } from './dice.ts';
import type { Stage } from './run.ts';

export interface UploadsPlan {
  seed: number;
  /** Number of complete photos of both accounts; invalid ones are additional. */
  photos: number;
  /** Megabytes of complete voice messages of both accounts; invalid ones are additional. */
  megabytes: number;
  kills: number;
}

export interface UploadsReport {
  photos: number;
  wrongPhotos: number;
  messages: number;
  wrongMessages: number;
  megabytes: number;
  kills: number;
  /** Photos that are not stored, or stored as another picture than was sent. */
  lost: string[];
  /** Responses to voice messages with a wrong transcript, or in an undocumented format. */
  misheard: string[];
  /** Data of one account that the other one could read or delete. */
  foreign: string[];
  /** Files that remain after everything was deleted. */
  left: string[];
  /** Highest memory of the server's process, MB. */
  peakMB: number;
}

/** Limit for a server with a heap of HEAP_MB: code, buffers and libraries included. */
export const MOST_MB = 450;
const HEAP_MB = 128;
const PICTURE = { width: 320, height: 240, block: 40 };
const BITS = 16;
/** Incomplete pictures of one connection. */
const OPEN_AT_ONCE = 6;
const MOST_PIECE_BYTES = 9000;
const MOST_WRITE_BYTES = 64 * 1024;
const WRONG_SHARE = 0.15;
const FAILURE_KEYS = ['error', 'message', 'outcome', 'provider', 'retryable'];
/** Files without personal data: the database, and the server's own records. */
const NOT_OF_PEOPLE = /\.db(-\w+)?$|\.sock$|\/backups\/state\.json$/;
const SENTENCES = ['budget', 'garden', 'health', 'journey', 'tomorrow'];

interface Owner {
  name: string;
  /** Bit that the account's pictures contain. */
  number: 0 | 1;
  token: string;
}

export function areUnharmed({ lost, misheard, foreign, left, peakMB }: UploadsReport): boolean {
  return [lost, misheard, foreign, left].every(found => found.length === 0) && peakMB <= MOST_MB;
}

export async function uploadsTorture(stage: Stage, plan: UploadsPlan): Promise<UploadsReport> {
  const use = join(import.meta.dirname, '../fixtures/plugins/prompt-stt.ts');
  const core = await coreProcess(
    stage,
    { stt: ['prompt'], plugins: { prompt: { use } }, rateLimits: { enabled: false } },
    () => ['env', `NODE_OPTIONS=--max-old-space-size=${HEAP_MB}`],
  );
  const control = controlPath(core.dataDir);
  await callControl(control, 'user.add', { name: 'other' });
  const owners = await Promise.all(
    (['owner', 'other'] as const).map(async (name, number): Promise<Owner> => {
      const made = await callControl(control, 'token', { user: name });
      if (made === 'absent') throw new Error('the server does not answer');
      return { name, number: number as 0 | 1, token: made.token };
    }),
  );
  const before = new Set(await filesIn(core.dataDir));
  const report: UploadsReport = {
    ...{ photos: 0, wrongPhotos: 0, messages: 0, wrongMessages: 0, megabytes: 0, kills: 0 },
    ...{ lost: [], misheard: [], foreign: [], left: [], peakMB: 0 },
  };
  const gauge = setInterval(() => {
    const { pid, exitCode } = core.process();
    if (pid === undefined || exitCode !== null) return;
    try {
      report.peakMB = Math.max(report.peakMB, Math.round(memoryOf(pid).rss));
    } catch {
      // it was just killed
    }
  }, 100);
  stage.teardown(() => clearInterval(gauge));

  const total = plan.photos + plan.megabytes;
  const done = () => report.photos + report.megabytes;
  const work = owners.flatMap(owner => [
    sendPhotos(core, owner, { ...plan, photos: Math.ceil(plan.photos / 2) }, report),
    sendMessages(core, owner, { ...plan, megabytes: plan.megabytes / 2 }, report),
  ]);
  const killing = (async () => {
    for (let kill = 1; kill <= plan.kills; kill++) {
      await eventually(() => done() >= (total * kill) / (plan.kills + 1));
      stage.say(`${report.photos} photos, ${Math.round(report.megabytes)} MB; the server is killed`);
      await core.kill();
      await core.start();
      report.kills++;
    }
  })();
  const stored = (await Promise.all([...work, killing])).slice(0, work.length);
  stage.say(`${report.photos} photos, ${Math.round(report.megabytes)} MB; all of it is compared`);
  for (const owner of owners) await finish(core, owner);
  await compare(
    core,
    owners,
    stored.filter(kept => kept instanceof Map),
    report,
  );
  await removeAll(core, owners, report);
  report.left = await filesLeft(core.dataDir, before);
  return report;
}

/** Photos of one account by id: the number in the picture; null for a corrupt one. */
type Kept = Map<string, number | null>;

async function sendPhotos(
  core: CoreProcess,
  owner: Owner,
  { seed, photos }: UploadsPlan,
  report: UploadsReport,
): Promise<Kept> {
  const dice = createDice(seed + owner.number);
  const waiting = Array.from({ length: photos }, (_, number) => number);
  const kept: Kept = new Map();
  let mangle: ReturnType<typeof mutator> | null = null;
  while (waiting.length > 0) {
    const client = await connected(core, owner);
    if (client === null) continue;
    // Both accounts use the same names for their pictures.
    const sent = new Map<string, number>();
    try {
      for (const turns = dice.between(5, 40); sent.size < turns && waiting.length > 0; ) {
        const some = waiting.slice(0, dice.between(1, OPEN_AT_ONCE));
        const pictures = await Promise.all(some.map(number => pictureOf(owner, number, dice)));
        const messages = pictures.map((bytes, at) => piecesOf(`img-${some[at]}`, bytes, dice));
        mangle ??= mutator(
          messages
            .flat()
            .slice(0, 20)
            .map(piece => Buffer.from(piece)),
          seed,
        );
        for (const piece of shuffled(interleaved(messages), dice)) {
          if (client.socket.readyState !== client.socket.OPEN) throw new Error('it was cut');
          client.socket.send(piece);
          if (dice.next() < WRONG_SHARE / 5)
            client.socket.send(Buffer.from(mangle.next().message).toString());
          if (dice.next() < 0.2) await turn();
        }
        if (dice.next() < WRONG_SHARE) sendWrong(client, dice, report);
        if (dice.next() < 0.05) throw new Error('it is cut');
        for (const number of some) {
          const { photo_id: id } = await client.until(
            'photo_processing',
            ({ temp_id }) => temp_id === `img-${number}`,
          );
          kept.set(id, number);
          sent.set(id, number);
          waiting.splice(waiting.indexOf(number), 1);
          report.photos++;
        }
      }
    } catch {
      // After a lost connection, unconfirmed chunks are sent again.
    }
    for (const event of client.events)
      if (event.type === 'photo_processing' && !kept.has(event.photo_id)) kept.set(event.photo_id, null);
    if (dice.next() < 0.5) client.socket.close();
    else client.socket.terminate();
    await client.closed;
  }
  return kept;
}

async function connected(core: CoreProcess, { token }: Owner): Promise<ListenClient | null> {
  const query = { custom_stt: 'enabled', client_device_id: 'camera', conversation_timeout: 3600 };
  return connectListen(core.url, token, query).catch(async () => {
    await sleep(100);
    return null;
  });
}

/** Ends the conversation of the photos, because lists leave out open ones. */
async function finish(core: CoreProcess, owner: Owner): Promise<void> {
  const client = await connected(core, owner);
  client?.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  await client?.until('memory_created');
  client?.socket.close();
}

/** Creates a picture whose blocks encode its owner and its number. */
async function pictureOf({ number: of }: Owner, number: number, dice: Dice): Promise<Buffer> {
  const { width, height, block } = PICTURE;
  const value = (of << (BITS - 1)) | number;
  const pixels = new Uint8Array(width * height * 4).fill(255);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const bit = Math.floor(y / block) * (width / block) + Math.floor(x / block);
      const isBright = bit < BITS ? (value >> bit) & 1 : (x ^ y) & 16;
      pixels.fill(isBright ? 230 : 20, (y * width + x) * 4, (y * width + x) * 4 + 3);
    }
  const picture = Transformer.fromRgbaPixels(pixels, width, height);
  const write = [() => picture.jpeg(90), () => picture.png(), () => picture.webp(90)];
  return dice.pick(write)();
}

/** Decodes the blocks of a picture. */
async function readPicture(bytes: Buffer): Promise<{ of: number; number: number }> {
  const { width, height, block } = PICTURE;
  const pixels = await new Transformer(bytes).rawPixels();
  const channels = pixels.length / (width * height);
  let value = 0;
  for (let bit = 0; bit < BITS; bit++) {
    const x = (bit % (width / block)) * block + block / 2;
    const y = Math.floor(bit / (width / block)) * block + block / 2;
    if ((pixels[Math.floor((y * width + x) * channels)] ?? 0) > 128) value |= 1 << bit;
  }
  return { of: value >> (BITS - 1), number: value & ~(1 << (BITS - 1)) };
}

/** Splits into chunks of random size, some of them repeated. */
function piecesOf(id: string, bytes: Buffer, dice: Dice): string[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = dice.between(1, MOST_PIECE_BYTES);
    parts.push(bytes.subarray(at, at + size));
    at += size;
  }
  const pieces = parts.map((part, index) =>
    JSON.stringify({ type: 'image_chunk', id, index, total: parts.length, data: part.toString('base64') }),
  );
  return [...pieces, ...pieces.slice(0, -1).filter(() => dice.next() < 0.1)];
}

function interleaved<T>(lists: readonly (readonly T[])[]): T[] {
  const most = Math.max(...lists.map(({ length }) => length));
  return Array.from({ length: most }, (_, at) => lists.flatMap(list => list.slice(at, at + 1))).flat();
}

function shuffled<T>(items: T[], dice: Dice): T[] {
  for (let at = items.length - 1; at > 0; at--) {
    const other = dice.between(0, at);
    [items[at], items[other]] = [items[other] as T, items[at] as T];
  }
  return items;
}

/** Sends a picture that never becomes valid. */
function sendWrong({ socket }: ListenClient, dice: Dice, report: UploadsReport): void {
  const id = `wrong-${dice.between(0, 1e9)}`;
  const data = Buffer.from(Array.from({ length: 2000 }, () => dice.between(0, 255))).toString('base64');
  const piece = (more: object) =>
    JSON.stringify({ type: 'image_chunk', id, index: 0, total: 1, data, ...more });
  const wrong = [
    [piece({})],
    [piece({ total: 3 })],
    [piece({ total: 2 }), piece({ index: 1, total: 5 })],
    [piece({ data: 'no Base64!' })],
    [piece({ index: 9, total: 2 })],
  ];
  for (const message of dice.pick(wrong)) socket.send(message);
  report.wrongPhotos++;
}

interface Reply {
  status: number;
  body: Record<string, unknown>;
}

async function sendMessages(
  core: CoreProcess,
  owner: Owner,
  { seed, megabytes }: UploadsPlan,
  report: UploadsReport,
): Promise<void> {
  const dice = createDice(seed + 10 + owner.number);
  // Each account speaks its own sentences, so that each answer reveals whose audio was used.
  const own = SENTENCES.slice(owner.number * 2, owner.number * 2 + 3);
  const recordings = [2, 5, 9].map((times, at) => {
    const said = Array.from({ length: times }, (_, n) => [
      speech(own[(n + at) % 3] ?? ''),
      silence(1),
    ]).flat();
    return encodeWav(joined(silence(0.5), ...said));
  });
  const expected = new Map<Buffer, string>();
  for (let sent = 0; sent < megabytes; ) {
    const wav = Buffer.from(dice.pick(recordings));
    const key = recordings.find(each => Buffer.compare(Buffer.from(each), wav) === 0) as Buffer;
    const kind = dice.next() < WRONG_SHARE ? dice.pick(['cut', 'noise', 'header'] as const) : 'whole';
    const body = kind === 'whole' || kind === 'cut' ? wav : damaged(wav, kind, dice);
    const reply = await post(core, owner, { body, dice, isCut: kind === 'cut' });
    if (kind === 'cut') report.wrongMessages++;
    else if (reply === null) await sleep(100); // the server was killed
    if (reply === null || reply.status === 429) continue;
    if (kind !== 'whole') {
      report.wrongMessages++;
      const keys = Object.keys(reply.body).sort();
      if (reply.status !== 400 || keys.join() !== FAILURE_KEYS.join())
        report.misheard.push(`${owner.name}, ${kind}: ${reply.status} ${JSON.stringify(reply.body)}`);
      continue;
    }
    const transcript = JSON.stringify([reply.status, reply.body.outcome, reply.body.transcript]);
    if (!expected.has(key)) expected.set(key, transcript);
    if (reply.body.outcome !== 'success' || expected.get(key) !== transcript)
      report.misheard.push(`${owner.name}: ${JSON.stringify(reply)}, and not ${expected.get(key)}`);
    sent += wav.length / 1e6;
    report.megabytes += wav.length / 1e6;
    report.messages++;
  }
}

function damaged(wav: Buffer, how: 'noise' | 'header', dice: Dice): Buffer {
  if (how === 'header') return wav.subarray(0, dice.between(1, 40));
  return Buffer.from(wav.map(() => dice.between(0, 255))).fill('x', 0, 4);
}

/** Sends a form in random chunks. Null: there was no response. */
function post(
  core: CoreProcess,
  { token }: Owner,
  { body, dice, isCut }: { body: Buffer; dice: Dice; isCut: boolean },
): Promise<Reply | null> {
  const boundary = `b${dice.between(1e8, 1e9)}`;
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="files"; filename="note.wav"\r\n\r\n`;
  const whole = Buffer.concat([Buffer.from(head), body, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  const end = isCut ? dice.between(1, whole.length - 1) : whole.length;
  return new Promise(resolve => {
    const asked = request(`${core.url}/v2/voice-message/transcribe`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': `multipart/form-data; boundary=${boundary}`,
        ...(dice.next() < 0.5 ? { 'content-length': whole.length } : {}),
      },
    });
    asked.on('error', () => resolve(null));
    asked.on('response', async response => {
      try {
        const text = Buffer.concat(await response.toArray()).toString();
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) });
      } catch {
        resolve(null);
      }
    });
    void (async () => {
      for (let at = 0; at < end; ) {
        const to = Math.min(end, at + dice.between(1, MOST_WRITE_BYTES));
        if (asked.destroyed) return;
        if (!asked.write(whole.subarray(at, to))) await sleep(1);
        at = to;
        if (dice.next() < 0.1) await turn();
      }
      if (isCut) asked.destroy();
      else asked.end();
    })();
  });
}

/** Requests with a token; returns the body of a 200, else null. */
async function ask(
  core: CoreProcess,
  { token }: Owner,
  path: string,
  method = 'GET',
): Promise<Buffer | null> {
  const response = await fetch(core.url + path, { method, headers: { Authorization: `Bearer ${token}` } });
  const body = Buffer.from(await response.arrayBuffer());
  return response.status === 200 ? body : null;
}

async function askJson(core: CoreProcess, owner: Owner, path: string): Promise<{ id: string }[]> {
  const body = await ask(core, owner, path);
  if (body === null) throw new Error(`${path} was refused`);
  return JSON.parse(body.toString());
}

/** Compares what is stored with what was sent, and requests everything with the other account's credential. */
async function compare(
  core: CoreProcess,
  owners: readonly Owner[],
  stored: readonly Kept[],
  report: UploadsReport,
): Promise<void> {
  for (const [at, owner] of owners.entries()) {
    const other = owners[1 - at] as Owner;
    const kept = stored[at] as Kept;
    const listed: string[] = [];
    for (const { id } of await askJson(core, owner, '/v1/dev/user/conversations?limit=100')) {
      for (const photo of await askJson(core, owner, `/v1/conversations/${id}/photos`)) listed.push(photo.id);
      if ((await ask(core, other, `/v1/conversations/${id}/photos`)) !== null) report.foreign.push(id);
    }
    for (const [id, number] of kept) {
      if (!listed.includes(id)) report.lost.push(`${owner.name}, ${id}: not listed`);
      for (const path of [`/v1/photos/${id}`, `/v1/photos/${id}?size=small`])
        if ((await ask(core, other, path)) !== null) report.foreign.push(path);
      if ((await ask(core, other, `/v1/photos/${id}`, 'DELETE')) !== null)
        report.foreign.push(`DELETE ${id}`);
      const bytes = await ask(core, owner, `/v1/photos/${id}`);
      if (bytes === null) report.lost.push(`${owner.name}, ${id}: not read`);
      else if (number !== null) {
        const seen = await readPicture(bytes);
        if (seen.of !== owner.number) report.foreign.push(`${owner.name}, ${id}: a picture of the other`);
        if (seen.number !== number) report.lost.push(`${owner.name}, ${number}: it became ${seen.number}`);
      }
    }
    // Chunks sent again after a lost connection may be stored twice, for their own owner.
    for (const id of listed.filter(id => !kept.has(id))) {
      const seen = await readPicture((await ask(core, owner, `/v1/photos/${id}`)) ?? Buffer.alloc(0)).catch(
        () => null, // a mutated one
      );
      if (seen && seen.of !== owner.number)
        report.foreign.push(`${owner.name}, ${id}: a picture of the other`);
    }
  }
}

/** Deletes some photos individually, the others with their conversations, and those of one account with the account. */
async function removeAll(core: CoreProcess, owners: readonly Owner[], report: UploadsReport): Promise<void> {
  const [first, second] = owners as [Owner, Owner];
  for (const { id } of await askJson(core, first, '/v1/dev/user/conversations?limit=100')) {
    const photos = await askJson(core, first, `/v1/conversations/${id}/photos`);
    for (const photo of photos.slice(0, photos.length / 2))
      if ((await ask(core, first, `/v1/photos/${photo.id}`, 'DELETE')) === null)
        report.left.push(`${photo.id} cannot be deleted`);
    if ((await ask(core, first, `/v1/dev/user/conversations/${id}`, 'DELETE')) === null)
      report.left.push(`${id} cannot be deleted`);
  }
  await callControl(controlPath(core.dataDir), 'user.remove', { user: second.name });
}

/** Files may be deleted after their rows: lists those that remain once no more disappear. */
async function filesLeft(dataDir: string, before: ReadonlySet<string>): Promise<string[]> {
  const look = async () =>
    (await filesIn(dataDir)).filter(file => !before.has(file) && !NOT_OF_PEOPLE.test(file));
  let left = await look();
  for (let waits = 0; left.length > 0 && waits < 100; waits++) {
    await sleep(100);
    left = await look();
  }
  return left;
}

async function filesIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries.filter(entry => !entry.isDirectory()).map(entry => join(entry.parentPath, entry.name));
}
