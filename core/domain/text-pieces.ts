/**
 * Divides a text into pieces of at most `maxChars` code points. Each ends with a sentence, else with a word, where it
 * can; a text that is short enough is one piece.
 */
export function piecesOf(text: string, maxChars: number): string[] {
  const pieces: string[] = [];
  let rest = [...text.trim()];
  while (rest.length > maxChars) {
    const head = rest.slice(0, maxChars + 1).join('');
    const ends = [...head.matchAll(/(?<![.!?。！？])[.!?。！？]+(?=\s)|(?<=[。！？])/gu)].at(-1);
    const cut = ends ? ends.index + ends[0].length : head.lastIndexOf(' ');
    const piece = cut > 0 ? head.slice(0, cut) : rest.slice(0, maxChars).join('');
    pieces.push(piece.trim());
    rest = [
      ...rest
        .slice([...piece].length)
        .join('')
        .trim(),
    ];
  }
  return [...pieces, rest.join('')].filter(piece => piece !== '');
}
