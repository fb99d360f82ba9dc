/** Lowers the case of text from models that only write capitals. */
export function readable(text: string): string {
  const trimmed = text.replaceAll(/\s+/g, ' ').trim();
  return trimmed === trimmed.toUpperCase() ? trimmed.toLowerCase() : trimmed;
}
