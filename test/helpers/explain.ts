import type { Dialect } from '../../plugins/storage/sql/dialect.ts';

/** How the database carries out one query. */
interface Plan {
  sql: string;
  /** As the database puts it, one step a line. */
  steps: string[];
  /** The steps that read a whole table, or that sort. */
  faults: string[];
}

interface Query {
  sql: string;
  bindings?: readonly unknown[];
}

/** Has `ask` use a storage on this dialect, outside a transaction, and tells how each of its queries was carried out. */
export async function explain(dialect: Dialect, ask: () => Promise<unknown>): Promise<Plan[]> {
  const queries: Query[] = [];
  const note = (query: Query) => queries.push(query);
  for (const db of [dialect.reader, dialect.writer]) db.on('query', note);
  try {
    await ask();
  } finally {
    for (const db of [dialect.reader, dialect.writer]) db.off('query', note);
  }
  if (queries.length === 0) throw new Error('nothing was asked of the database');
  const planOf = dialect.locksRows ? postgresPlan : sqlitePlan;
  return await Promise.all(queries.map(query => planOf(dialect, query)));
}

async function sqlitePlan({ writer }: Dialect, { sql, bindings = [] }: Query): Promise<Plan> {
  const rows: { detail: string }[] = await writer.raw(`explain query plan ${sql}`, bindings as never[]);
  const steps = rows.map(({ detail }) => detail);
  return {
    sql,
    steps,
    faults: steps.filter(step => /^SCAN (?!\(subquery|.* VIRTUAL TABLE)|TEMP B-TREE/.test(step)),
  };
}

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: Node[];
}

async function postgresPlan({ writer }: Dialect, { sql, bindings = [] }: Query): Promise<Plan> {
  const numbered = sql.replace(/\$\d+/g, '?');
  const { rows } = await writer.raw(`explain (format json) ${numbered}`, bindings as never[]);
  const steps = nodesOf(rows[0]['QUERY PLAN'][0].Plan).map(node =>
    [node['Node Type'], node['Index Name'] ?? node['Relation Name']].filter(Boolean).join(' '),
  );
  return { sql, steps, faults: steps.filter(step => /^Seq Scan|Sort/.test(step)) };
}

function nodesOf(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
