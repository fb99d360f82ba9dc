export interface OwnedTable extends Pick<Table, 'name' | 'storable' | 'unfit'> {
  /** Yields the rows of a user in batches that fit into memory. */
  rows(userId: string): AsyncIterable<Row[]>;
  /** Inserts rows in a separate transaction. */
  write(rows: Row[]): Promise<void>;
  /** Removes all rows of a user, with their children, in transactions of at most 250 rows. */
  clear(userId: string): Promise<void>;
}

/** Table with all rows of all users. In every storage, names of tables and columns are those of the `sql` plugin. */
export interface Table {
  name: string;
  /** Columns of the primary key. */
  key: readonly string[];
  count(): Promise<number>;
  /** Yields all rows, ordered by key (texts by their UTF-8 bytes), in batches that fit into memory. */
  read(): AsyncIterable<Row[]>;
  write(rows: Row[]): Promise<void>;
  /** Returns the row as it will be read back, with values replaced that cannot be stored; the same object if unchanged. */
  storable(row: Row): Row;
  /** Returns the first column that is missing, unknown, or of the wrong type; null: the row can be written. */
  unfit(row: Record<string, unknown>): string | null;
}

/** Column → value, independent of the database. JSON is text. */
export type Row = Readonly<Record<string, string | number | boolean | null>>;
