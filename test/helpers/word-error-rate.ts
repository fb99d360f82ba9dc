/** Returns inserted, missing and substituted words divided by the number of words in `said`. */
export function wordErrorRate(said: string, heard: string): number {
  const [a, b] = [wordsOf(said), wordsOf(heard)];
  let row = b.map((_, i) => i + 1);
  for (const [i, word] of a.entries()) {
    let diagonal = i;
    let left = i + 1;
    row = row.map((above, j) => {
      const cost = Math.min(above + 1, left + 1, diagonal + (b[j] === word ? 0 : 1));
      diagonal = above;
      left = cost;
      return cost;
    });
  }
  return (row.at(-1) ?? a.length) / a.length;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z']+/g) ?? [];
}
