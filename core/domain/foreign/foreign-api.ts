/** Reads from the APIs of other products, with a key of the owner. */
import { z } from 'zod';
import type { Clock } from '../../contract/model.ts';
import type { FetchUser } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { ForeignSegment, ForeignSource, ForeignThing } from './foreign-item.ts';
import { conversationOf, instantFrom } from './format.ts';
import { sourceOf } from './formats/omi.ts';
import {
  conversationFromOmi,
  memoryFromOmi,
  OmiConversation,
  OmiMemory,
  OmiTask,
  taskFromOmi,
} from './formats/omi-shapes.ts';

const PAGE = 10;
/** Maximum number of items, in case an API never ends its list. */
const MAX_ROWS = 2_000_000;
const TRIES = 5;
const MAX_WAIT_MS = 60_000;
/** Time limit of one request. */
const LIMIT_MS = 60_000;

interface Interface {
  url: URL;
  key: string;
  fetchUser: FetchUser;
  clock: Pick<Clock, 'sleep'>;
}

/** @param server Limitless is recognised by its name; any other has Omi's API: Omi itself, its hosts, and Earshot */
export function openForeignApi(server: string, given: Omit<Interface, 'url'>): ForeignSource {
  const url = URL.parse(server);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new AppError('invalid_request', `${server} is no address`);
  const api = { ...given, url };
  const isLimitless = /(^|\.)limitless\.ai$/.test(url.hostname) || url.pathname.endsWith('/v1/lifelogs');
  return {
    format: isLimitless ? 'Limitless' : 'Omi',
    name: url.host,
    things: () => (isLimitless ? fromLimitless(api) : fromOmi(api)),
  };
}

async function* fromOmi(api: Interface): AsyncGenerator<ForeignThing> {
  const base = '/v1/dev/user/';
  for await (const row of pages(api, `${base}conversations?include_transcript=true`)) {
    const thing = conversationFromOmi(shaped(OmiConversation, row, api), sourceOf);
    if (!thing) throw strange(api);
    yield thing;
  }
  for await (const row of pages(api, `${base}memories?`)) yield memoryFromOmi(shaped(OmiMemory, row, api));
  for await (const row of pages(api, `${base}action-items?`)) {
    const thing = taskFromOmi(shaped(OmiTask, row, api));
    if (thing) yield thing;
  }
}

/** Reads lists page by page by offset; a response is an array, or `{ITEMS: […]}`. */
async function* pages(api: Interface, path: string): AsyncGenerator<unknown> {
  const separator = path.endsWith('?') ? '' : '&';
  const headers = { Authorization: `Bearer ${api.key}` };
  for (let offset = 0, limit = PAGE; offset < MAX_ROWS; ) {
    const answer = await smaller(limit, each =>
      get(api, `${path}${separator}limit=${each}&offset=${offset}`, headers),
    );
    const rows = Array.isArray(answer.body)
      ? answer.body
      : Object.values(z.record(z.string(), z.unknown()).catch({}).parse(answer.body)).find(Array.isArray);
    if (!rows) throw strange(api);
    yield* rows;
    limit = answer.limit;
    offset += rows.length;
    if (rows.length < limit) return;
  }
}

/** Reads conversations one at a time if a response with several would be too long. */
async function smaller(limit: number, ask: (limit: number) => Promise<unknown>) {
  try {
    return { body: await ask(limit), limit };
  } catch (error) {
    if (limit === 1 || !(error instanceof AppError) || error.code !== 'upstream_error') throw error;
    return { body: await ask(1), limit: 1 };
  }
}

const Content = z.looseObject({
  content: z.string().nullish(),
  startTime: z.string().nullish(),
  endTime: z.string().nullish(),
  speakerName: z.string().nullish(),
  speakerIdentifier: z.string().nullish(),
  type: z.string().nullish(),
});
const Lifelogs = z.looseObject({
  data: z.looseObject({
    lifelogs: z.array(
      z.looseObject({
        id: z.string(),
        title: z.string().nullish(),
        startTime: z.string().nullish(),
        endTime: z.string().nullish(),
        isStarred: z.boolean().nullish(),
        contents: z.array(Content).nullish(),
      }),
    ),
  }),
  meta: z.looseObject({ lifelogs: z.looseObject({ nextCursor: z.string().nullish() }) }).nullish(),
});

async function* fromLimitless(api: Interface): AsyncGenerator<ForeignThing> {
  let cursor: string | null = null;
  for (let row = 0; row < MAX_ROWS; row++) {
    const next: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await smaller(PAGE, limit =>
      get(
        api,
        `/v1/lifelogs?limit=${limit}&direction=asc&includeMarkdown=false&includeContents=true${next}`,
        {
          'X-API-Key': api.key,
        },
      ),
    );
    const answer = shaped(Lifelogs, body, api);
    for (const lifelog of answer.data.lifelogs) yield fromLifelog(lifelog, api);
    cursor = answer.meta?.lifelogs.nextCursor ?? null;
    if (cursor === null) return;
  }
}

function fromLifelog(
  { id, title, startTime, isStarred, contents }: z.infer<typeof Lifelogs>['data']['lifelogs'][number],
  api: Interface,
): ForeignThing {
  const said = (contents ?? []).flatMap(each => {
    const [from, to] = [instantFrom(each.startTime), instantFrom(each.endTime)];
    if (from === null || !each.content?.trim() || /^heading/.test(each.type ?? '')) return [];
    return [{ ...each, text: each.content, from, to: Math.max(to ?? from, from) }];
  });
  const topics = (contents ?? []).filter(({ type }) => /^heading[23]$/.test(type ?? ''));
  const begun = said.length > 0 ? Math.min(...said.map(({ from }) => from)) : instantFrom(startTime);
  if (begun === null) throw strange(api);
  if (said.length === 0) return { kind: 'left_out', what: 'lifelog', why: 'nothing is said in it' };
  return conversationOf({
    // as in the export, which has no ids
    ...{ key: `limitless:${begun}`, source: 'limitless', title: title ?? id, startedAt: begun },
    overview: topics.map(({ content }) => content ?? '').join('. '),
    starred: isStarred ?? false,
    segments: said.map(
      ({ text, from, to, speakerName, speakerIdentifier }): ForeignSegment => ({
        text,
        start: (from - begun) / 1000,
        end: (to - begun) / 1000,
        speaker: speakerName ?? null,
        isUser: speakerIdentifier === 'user',
      }),
    ),
  });
}

async function get(
  { url, fetchUser, clock, key }: Interface,
  path: string,
  headers: Record<string, string>,
): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const {
      status,
      headers: told,
      body,
    } = await fetchUser(new URL(path, url.origin).href, { headers, signal });
    if (status === 200) return fromJson(body);
    if (attempt === TRIES || !(status === 429 || status >= 500)) throw refusal(url, status, key);
    const seconds = Number(told.get('retry-after'));
    await clock.sleep(Math.min(MAX_WAIT_MS, seconds > 0 ? seconds * 1000 : 1000 * 2 ** attempt));
  }
}

function fromJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return null; // of an unknown shape
  }
}

function refusal({ host }: URL, status: number, key: string): AppError {
  if (status !== 401 && status !== 403) return new AppError('upstream_error', `${host} answered ${status}`);
  const hint = key.trim() === key ? '' : ': it has spaces around it';
  return new AppError('forbidden', `${host} refuses the key (${status})${hint}`);
}

function shaped<T>(schema: z.ZodType<T>, value: unknown, api: Interface): T {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw strange(api);
  return parsed.data;
}

function strange({ url }: Interface): AppError {
  return new AppError('upstream_error', `${url.host} answers otherwise than Omi and Limitless do`);
}
