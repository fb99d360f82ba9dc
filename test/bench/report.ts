import type { Cell, Table } from './benchmark.ts';

/** A table in GitHub's format, which is readable in a terminal too. */
export function renderTable({ title, columns, rows, notes = [] }: Table): string {
  const lines = [columns, ...rows.map(row => row.map(render))];
  const widths = columns.map((_, at) => Math.max(...lines.map(line => line[at]?.length ?? 0)));
  const draw = (cells: readonly string[]) =>
    `| ${widths.map((width, at) => pad(cells[at] ?? '', width, at)).join(' | ')} |`;
  const rule = `|${widths.map((width, at) => (at === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  const [head = [], ...body] = lines;
  return [`### ${title}`, '', draw(head), rule, ...body.map(draw), ...notes.flatMap(note => ['', note])].join(
    '\n',
  );
}

/** Names are left-aligned, figures right-aligned. */
function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width);
}

function render(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'string') return cell;
  if (typeof cell === 'number') return figure(cell);
  const { median, low, high } = cell;
  return low === high ? figure(median) : `${figure(median)} (${figure(low)}-${figure(high)})`;
}

/** Three digits, the precision of a benchmark. */
function figure(value: number): string {
  if (Number.isNaN(value)) return '-';
  if (!Number.isFinite(value)) return 'never';
  if (Number.isInteger(value) || Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}
