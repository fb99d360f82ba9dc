/** Renders a Markdown table. Bars within cells are escaped. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The note at the top of a generated page. */
export function generated(source: string): string {
  return `<!-- Generated from ${source} by \`npm run docs\`. Do not edit. -->`;
}
