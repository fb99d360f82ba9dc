import type { Dialect } from '../../plugins/storage/sql/dialect.ts';

/** The database's plan for one query. */
interface Plan {
  sql: string;
  /** Steps in the database's words. */
  steps: string[];
  /** Steps that read a whole table, or sort. */
  faults: string[];
}

interface Query {
  sql: string;
  bindings?: readonly unknown[];
}

/** Runs `ask` with a storage on this dialect, outside a transaction, and returns the plan of each of its queries. */
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
