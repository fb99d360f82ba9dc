/** Page size: small enough for memory, large enough for few queries. */
const PAGE_ROWS = 100;

interface Part {
  limit: number;
  offset: number;
}

/**
 * A list whose pages are loaded on demand, as they are iterated over, once. What handles whole pages is several times as
 * fast as what iterates over single rows.
 */
export class PagedList<Row> implements AsyncIterable<Row> {
  readonly pages: AsyncIterable<Row[]>;

  constructor(pages: AsyncIterable<Row[]>) {
    this.pages = pages;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row> {
    for await (const page of this.pages) yield* page;
  }

  /** Converts each row. */
  map<Shown>(show: (row: Row) => Shown): PagedList<Shown> {
    return new PagedList(mapped(this.pages, page => page.map(show)));
  }
}

/** A list of which all is in memory, or a page at a time. */
export type List<Row> = Row[] | PagedList<Row>;

/** Converts each page. */
export async function mapPages<Row, Shown>(
  list: List<Row>,
  show: (page: Row[]) => Promise<Shown[]>,
): Promise<List<Shown>> {
  return list instanceof PagedList ? new PagedList(mapped(list.pages, show)) : show(list);
}

/**
 * Returns a list that is loaded page by page, or at once where it fits into one page. A row that moves meanwhile is in it
 * once.
 */
export async function inPages<Row extends { id: string }>(
  load: (part: Part) => Promise<Row[]>,
  { limit, offset }: Part,
): Promise<List<Row>> {
  if (limit <= PAGE_ROWS) return load({ limit, offset });
  async function* pages() {
    const seen = new Set<string>();
    const isNew = ({ id }: Row) => !seen.has(id) && seen.add(id);
    for (let first = 0; first < limit; first += PAGE_ROWS) {
      const most = Math.min(PAGE_ROWS, limit - first);
      const rows = await load({ limit: most, offset: offset + first });
      yield rows.filter(isNew);
      if (rows.length < most) return;
    }
  }
  return new PagedList(pages());
}

/** The same for a list that continues after its last row, newest first. */
export async function inPagesBefore<Row extends { id: string }>(
  load: (part: { limit: number; beforeId: string | undefined }) => Promise<Row[]>,
  { limit, beforeId }: { limit: number; beforeId: string | undefined },
): Promise<List<Row>> {
  if (limit <= PAGE_ROWS) return load({ limit, beforeId });
  async function* pages() {
    let last = beforeId;
    for (let left = limit; left > 0; left -= PAGE_ROWS) {
      const most = Math.min(PAGE_ROWS, left);
      const rows = await load({ limit: most, beforeId: last });
      yield rows;
      if (rows.length < most) return;
      last = rows.at(-1)?.id;
    }
  }
  return new PagedList(pages());
}

/** Converts each row. */
export async function* mapped<Row, Shown>(
  rows: AsyncIterable<Row>,
  show: (row: Row) => Shown | Promise<Shown>,
): AsyncGenerator<Shown> {
  for await (const row of rows) yield await show(row);
}

/** Yields the pages of a list by id, which are at most `size` long and never empty. */
export async function* pagesById<Row extends { id: string }>(
  load: (afterId: string | null, limit: number) => Promise<Row[]>,
  size: number,
): AsyncGenerator<Row[]> {
  for (let after: string | null = null; ; ) {
    const page = await load(after, size);
    const last = page.at(-1);
    if (last) yield page;
    if (!last || page.length < size) return;
    after = last.id;
  }
}
