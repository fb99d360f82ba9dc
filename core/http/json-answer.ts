import { Readable } from 'node:stream';
import { mapped, PagedList } from '../domain/pages.ts';
import { createPace } from '../runtime/pace.ts';

/** A value to be serialised as JSON, in which any list may be asynchronous. */
export type Streamable<T> =
  | T
  | (T extends (infer Item)[]
      ? AsyncIterable<Streamable<Item>> | Streamable<Item>[]
      : T extends object
        ? { [Key in keyof T]: Streamable<T[Key]> }
        : never);

type List = AsyncIterable<unknown> | readonly unknown[];

/** Responses of up to this many characters are sent whole, with their length. */
const MAX_WHOLE_CHARS = 256 * 1024;
const CHUNK_CHARS = 64 * 1024;
/** Serialised without a look at the time: less than 1 ms. */
const PIECE_CHARS = 16 * 1024;
/** Longer lists are serialised in pieces. */
const MAX_WHOLE_ITEMS = 100;

/**
 * Serialises a value as JSON: a string, or, where that would be long, a stream that is produced no faster than the
 * client reads. Yields to other work in between. Rejects where the value fails before the stream begins; later the
 * stream fails.
 */
export async function jsonAnswer(value: unknown): Promise<string | Readable> {
  if (!isLong(value)) {
    const whole = Array.isArray(value) ? shortList(value) : JSON.stringify(value);
    if (whole !== null) return whole;
  }
  const chunks = chunksOf(value);
  let head = '';
  while (head.length < MAX_WHOLE_CHARS) {
    const { done, value: chunk } = await chunks.next();
    if (done) return head;
    head += chunk;
  }
  return Readable.from(continued(head, chunks), { objectMode: false });
}

/** Null: it would be long. */
function shortList(list: readonly unknown[]): string | null {
  const items: string[] = [];
  let chars = 0;
  for (const item of list) {
    const text = JSON.stringify(item);
    items.push(text);
    chars += text.length;
    if (chars > MAX_WHOLE_CHARS) return null;
  }
  return `[${items.join(',')}]`;
}

async function* continued(head: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield head;
  yield* rest;
}

async function* chunksOf(value: unknown): AsyncGenerator<string> {
  const pace = createPace();
  let chunk = '';
  for await (const piece of piecesOf(value)) {
    chunk += piece;
    const othersTurn = pace();
    if (othersTurn) await othersTurn;
    if (chunk.length < CHUNK_CHARS) continue;
    yield chunk;
    chunk = '';
  }
  yield chunk;
}

async function* piecesOf(value: unknown): AsyncGenerator<string> {
  if (typeof value === 'object' && value !== null && isList(value)) yield* piecesOfList(value);
  else if (isLong(value)) yield* piecesOfObject(value);
  else yield JSON.stringify(value);
}

async function* piecesOfList(list: List): AsyncGenerator<string> {
  let piece = '[';
  let separator = '';
  for await (const page of pagesOf(list))
    for (const item of page) {
      piece += separator;
      separator = ',';
      if (isLong(item)) {
        yield piece;
        yield* piecesOf(item);
        piece = '';
      } else piece += JSON.stringify(item);
      if (piece.length < PIECE_CHARS) continue;
      yield piece;
      piece = '';
    }
  yield `${piece}]`;
}

/** Returns the items of a list in groups: one by one only where it has no pages. */
function pagesOf(list: List): AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]> {
  if (list instanceof PagedList) return list.pages;
  return Symbol.asyncIterator in list ? mapped(list, item => [item]) : [list];
}

async function* piecesOfObject(object: object): AsyncGenerator<string> {
  let separator = '{';
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    yield `${separator}${JSON.stringify(key)}:`;
    yield* piecesOf(value);
    separator = ',';
  }
  yield '}';
}

/** Whether it is, or has as a property, a list that is asynchronous or long, or has such an item. */
function isLong(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (isList(value)) return isLongList(value);
  for (const key in value) {
    const part: unknown = Reflect.get(value, key);
    if (typeof part === 'object' && part !== null && isList(part) && isLongList(part)) return true;
  }
  return false;
}

function isList(value: object): value is List {
  return Array.isArray(value) || Symbol.asyncIterator in value;
}

function isLongList(list: List): boolean {
  return !Array.isArray(list) || list.length > MAX_WHOLE_ITEMS || list.some(isLong);
}
