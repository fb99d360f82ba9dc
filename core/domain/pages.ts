/** Page size: small enough for memory, large enough for few queries. */
const PAGE_ROWS = 100;

interface Part {
  limit: number;
  offset: number;
}

/** Iterates over a list that is loaded page by page on demand. A row that moves meanwhile is returned once. */
export async function* inPages<Row extends { id: string }>(
  load: (part: Part) => Promise<Row[]>,
  { limit, offset }: Part,
): AsyncGenerator<Row> {
  const seen = new Set<string>();
  for (let first = 0; first < limit; first += PAGE_ROWS) {
    const most = Math.min(PAGE_ROWS, limit - first);
    const rows = await load({ limit: most, offset: offset + first });
    for (const row of rows) {
      if (seen.has(row.id)) continue;
      seen.add(row.id);
      yield row;
    }
    if (rows.length < most) return;
  }
}

/** The same for a list that continues after its last row, newest first. */
export async function* inPagesBefore<Row extends { id: string }>(
  load: (part: { limit: number; beforeId: string | undefined }) => Promise<Row[]>,
  { limit, beforeId }: { limit: number; beforeId: string | undefined },
): AsyncGenerator<Row> {
  let last = beforeId;
  for (let left = limit; left > 0; left -= PAGE_ROWS) {
    const most = Math.min(PAGE_ROWS, left);
    const rows = await load({ limit: most, beforeId: last });
    yield* rows;
    if (rows.length < most) return;
    last = rows.at(-1)?.id;
  }
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
