/** Anyone's text as it may be shown and sent: without control characters but line breaks, at most so many characters. */
export function wholeText(text: string, maxChars: number): string {
  const clean = text
    .slice(0, maxChars * 4)
    .toWellFormed()
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\P{Cc}\n]+/gu, ' ')
    .trim();
  const chars = [...clean];
  return chars.length <= maxChars
    ? clean
    : `${chars
        .slice(0, maxChars - 1)
        .join('')
        .trimEnd()}…`;
}
