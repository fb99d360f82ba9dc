/** Prepares untrusted text for display and sending: without control characters except line breaks, and shortened. */
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
