/** Attacks on the REST API that once blocked the server or exhausted its memory. */
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { callControl, controlPath } from '../../../core/control/control.ts';
import { openSqlite } from '../../../plugins/storage/sql/sqlite.ts';
import { storageContext } from '../../helpers/storage.ts';
import { idOf } from '../lists/many.ts';
import type { Attack, Count, Target } from './attack.ts';
import { addTranscripts, type Transcripts } from './transcripts.ts';

const SIGN_IN = '/v1/auth/token';
const FROM_SEGMENTS = '/v1/dev/user/conversations/from-segments';
const MiB = 1024 * 1024;
/** Pairs of conversations that are merged and split again, each at most once a second. */
const MERGING = 4;
/** Two of them are within the limit of one conversation: 20,000 segments and 8 MB. */
const LARGE_SEGMENTS = 9900;
const HONEST_SEGMENTS = 100;

export const HTTP_ATTACKS: Attack[] = [
  {
    name: 'content-type',
    title: '5 sign-ins a second with a Content-Type of 15,500 blanks',
    attack: ({ url }, count) =>
      every(200, () =>
        raw(
          url,
          `POST ${SIGN_IN}`,
          { 'Content-Type': `application/json${' '.repeat(15_500)}x` },
          '{}',
          count,
        ),
      ),
    honest: ({ url }, count) =>
      every(200, () =>
        raw(url, 'GET /.well-known/jwks.json', { 'X-Padding': 'x'.repeat(15_500) }, '', count),
      ),
  },
  {
    name: 'brackets',
    title: 'one import a second of a text that is nothing but brackets',
    attack: (target, count) => {
      const bodies = [segmentsOf('['.repeat(60_000)), segmentsOf(...Array(10).fill('['.repeat(20_000)))];
      return every(1000, at => send(target, 'POST', FROM_SEGMENTS, bodies[at % bodies.length], count));
    },
    honest: (target, count) => {
      const body = segmentsOf(...Array(10).fill('Tea at seven, said Eve. '.repeat(800)));
      return every(1000, () => send(target, 'POST', FROM_SEGMENTS, body, count));
    },
  },
  {
    name: 'bodies',
    title: '1000 sign-ins whose body of 1 MB never ends',
    async attack({ url }, count) {
      const body = Buffer.alloc(MiB - 1024, 'x');
      const head = `POST ${SIGN_IN} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${MiB}\r\n\r\n`;
      await hold(url, 1000, count, socket => {
        socket.write(head);
        socket.write(body);
      });
    },
    async honest({ url }, count) {
      const request = `GET /.well-known/jwks.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
      await hold(url, 1000, count, socket => void socket.write(request));
    },
  },
  {
    name: 'continue',
    title: '50 sign-ins a second that ask leave to send 1.5 MB, and send it',
    attack: ({ url }, count) =>
      every(20, () => {
        const headers = { Expect: '100-continue', 'Content-Type': 'application/json' };
        return raw(url, `POST ${SIGN_IN}`, headers, 'x'.repeat(1_500_000), count);
      }),
    honest: ({ url }, count) => every(20, () => raw(url, 'GET /.well-known/jwks.json', {}, '', count)),
  },
  {
    name: 'issues',
    title: 'ten requests at once, 5 a second, with 500,000 mistakes each',
    attack: (target, count) => {
      const body = `{"muted":[${Array(500_000).fill('0').join()}]}`;
      return every(2000, () =>
        Promise.all(
          Array.from({ length: 10 }, () => send(target, 'PATCH', '/v1/notifications/settings', body, count)),
        ),
      );
    },
    honest: (target, count) => {
      const body = segmentsOf(...Array(100).fill('Tea at seven, said Eve. '.repeat(400)));
      return every(200, () => send(target, 'POST', '/v1/dev/user/conversations', body, count));
    },
  },
  {
    name: 'transcripts',
    title: 'ten requests at once, without end, for 1000 conversations with all of their transcripts, 94 MB',
    config: () => ({ rateLimits: { transcript: 60_000 } }),
    prepare: (target, { quick }) =>
      store(target, { conversations: quick ? 50 : 1000, segments: 100, textChars: 800 }),
    attack: (target, count) => readOn(target, 'limit=1000', count),
    honest: (target, count) => readOn(target, 'limit=10', count),
  },
  {
    name: 'merges',
    title: `${MERGING} merges or splits a second of conversations of 20,000 segments together, beside those of 200`,
    prepare: (target, { kind, quick }) =>
      store(target, {
        conversations: 2 * MERGING,
        segments: kind === 'honest' || quick ? HONEST_SEGMENTS : LARGE_SEGMENTS,
        textChars: 400,
      }),
    attack: mergeOn,
    honest: mergeOn,
  },
  {
    name: 'search',
    title: '2 searches a second for 120,000 combining marks',
    attack: (target, count) => searchOn(target, `a${'\u0301\u0323'.repeat(60_000)}`, count),
    honest: (target, count) => searchOn(target, 'What did Eve say of the tea and the garden?', count),
  },
  {
    name: 'keys',
    title: '50 keys of one account, each of which reads as much as one key may',
    attack: async (target, count) => readByKeys(await keysOf(target, 50), target, count),
    honest: async (target, count) => readByKeys(await keysOf(target, 1), target, count),
  },
];

/** Starts a request at each interval, whether or not the earlier ones are answered. */
async function every(ms: number, start: (at: number) => Promise<unknown>): Promise<void> {
  for (let at = 0; ; at++) {
    void start(at);
    await sleep(ms);
  }
}

async function send(
  { url, key, token }: Pick<Target, 'url' | 'key' | 'token'>,
  method: string,
  path: string,
  body: string | undefined,
  count: Count,
): Promise<void> {
  const credential = path.startsWith('/v1/dev/') ? key : token;
  const headers = { Authorization: `Bearer ${credential}`, 'Content-Type': 'application/json' };
  try {
    const answer = await fetch(new URL(path, url), { method, headers, ...(body && { body }) });
    count(String(answer.status));
    for await (const _ of answer.body ?? []); // as fast as it arrives
  } catch {
    count('cut off');
  }
}

/** One request on its own connection, sent byte by byte as given. */
function raw(
  url: string,
  line: string,
  headers: Record<string, string>,
  body: string,
  count: Count,
): Promise<void> {
  const all = { Host: 'localhost', Connection: 'close', 'Content-Length': String(body.length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise(resolve => {
    const socket = dial(url, () => {
      socket.write(`${line} HTTP/1.1\r\n${lines.join('')}\r\n`);
      socket.write(body);
    });
    let status = 'no answer';
    socket.on('data', chunk => {
      for (const [, found = ''] of String(chunk).matchAll(/HTTP\/1\.1 (\d{3}) /g)) status = found;
    });
    socket.once('close', () => {
      count(status);
      resolve();
    });
  });
}

function dial(url: string, onConnect: () => void): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1', onConnect);
  socket.on('error', () => socket.destroy());
  return socket;
}

/** Keeps this many connections open: one that the server closes is opened again. */
async function hold(
  url: string,
  connections: number,
  count: Count,
  use: (socket: Socket) => void | Promise<void>,
): Promise<void> {
  const open = () => {
    const socket = dial(url, () => {
      count('opened');
      void use(socket);
    });
    socket.resume();
    socket.once('close', () => setTimeout(open, 1000));
  };
  for (let at = 0; at < connections; at++) {
    open();
    if (at % 20 === 0) await sleep(10);
  }
}

function segmentsOf(...texts: string[]): string {
  const transcript_segments = texts.map((text, at) => ({ text, start: at, end: at + 1 }));
  return JSON.stringify({ transcript_segments, text: 'Tea at seven, said Eve.' });
}

function readOn({ url, appId, appSecret, userId }: Target, limit: string, count: Count): Promise<unknown> {
  const path = `/v2/integrations/${appId}/conversations?uid=${userId}&max_transcript_segments=-1&${limit}`;
  return Promise.all(
    Array.from({ length: 10 }, async (): Promise<void> => {
      for (;;) await send({ url, key: appSecret, token: appSecret }, 'GET', path, undefined, count);
    }),
  );
}

function searchOn({ url, appId, appSecret, userId }: Target, query: string, count: Count): Promise<void> {
  const path = `/v2/integrations/${appId}/search/conversations?uid=${userId}`;
  const credentials = { url, key: appSecret, token: appSecret };
  return every(500, () => send(credentials, 'POST', path, JSON.stringify({ query }), count));
}

async function keysOf({ dataDir }: Target, count: number): Promise<string[]> {
  const keys: string[] = [];
  while (keys.length < count) {
    const args = { user: 'attacker', scopes: ['conversations:read'] };
    const made = await callControl(controlPath(dataDir), 'key', args);
    if (made === 'absent') throw new Error('core does not answer on its control socket');
    keys.push(made.key);
  }
  return keys;
}

function readByKeys(keys: string[], { url }: Target, count: Count): Promise<unknown> {
  const path = '/v1/dev/user/conversations?limit=1000';
  return Promise.all(
    keys.map(key => every(100, () => send({ url, key, token: key }, 'GET', path, undefined, count))),
  );
}

async function store({ dataDir, userId }: Target, transcripts: Transcripts): Promise<void> {
  const { writer, close } = openSqlite(join(dataDir, 'earshot.db'), storageContext());
  await addTranscripts(writer, userId, transcripts);
  await close();
}

/** Merges each pair and splits it again at an early segment, so that nearly all segments move each time. */
function mergeOn(target: Target, count: Count): Promise<unknown> {
  return Promise.all(
    Array.from({ length: MERGING }, async (_, pair): Promise<void> => {
      const path = `/v1/conversations/${idOf(2 * pair + 1)}`;
      let other: string | null = idOf(2 * pair + 2);
      let splitAt = '';
      for (;;) {
        const pause = sleep(1000);
        if (other) {
          const merged = await correct(target, `${path}/merge`, { with: other }, count);
          if (merged) other = null;
          splitAt ||= merged?.transcript_segments.at(HONEST_SEGMENTS / 2)?.id ?? '';
        } else {
          other = (await correct(target, `${path}/split`, { segment_id: splitAt }, count))?.id ?? null;
        }
        await pause;
      }
    }),
  );
}

interface Corrected {
  id: string;
  transcript_segments: { id: string }[];
}

async function correct(
  { url, token }: Target,
  path: string,
  body: object,
  count: Count,
): Promise<Corrected | null> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  try {
    const answer = await fetch(new URL(path, url), { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await answer.text();
    count(`${path.endsWith('merge') ? 'merge' : 'split'} ${answer.status}`);
    return answer.ok ? (JSON.parse(text) as Corrected) : null;
  } catch {
    count('cut off');
    return null;
  }
}
