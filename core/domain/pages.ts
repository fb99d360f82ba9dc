/** Rows of one page: few enough for memory, enough to ask seldom. */
const PAGE_ROWS = 100;

interface Part {
  limit: number;
  offset: number;
}

/** The rows of a list, loaded page by page as they are asked for. A row that moves while they are read comes once. */
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

/** The same of a list that is read on from the last row, newest first. */
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

/** Each row as it is shown. */
export async function* mapped<Row, Shown>(
  rows: AsyncIterable<Row>,
  show: (row: Row) => Shown | Promise<Shown>,
): AsyncGenerator<Shown> {
  for await (const row of rows) yield await show(row);
}
