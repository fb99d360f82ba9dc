/** Models without letter case answer in capitals. */
export function readable(text: string): string {
  const trimmed = text.replaceAll(/\s+/g, ' ').trim();
  return trimmed === trimmed.toUpperCase() ? trimmed.toLowerCase() : trimmed;
}
