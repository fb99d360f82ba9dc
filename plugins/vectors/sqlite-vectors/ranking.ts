/** The best so far of a long list: a heap with the least of them on top. */
export interface Ranking {
  offer(row: number, score: number): void;
  /** In no order. */
  rows(): number[];
}

export function createRanking(size: number): Ranking {
  const rows = new Float64Array(size);
  const scores = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
  let least = Number.NEGATIVE_INFINITY;

  function offer(row: number, score: number): void {
    if (score <= least) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      if (left >= size) break;
      const lesser = right < size && scoreAt(right) < scoreAt(left) ? right : left;
      if (scoreAt(lesser) >= score) break;
      rows[at] = rows[lesser] ?? 0;
      scores[at] = scoreAt(lesser);
      at = lesser;
    }
    rows[at] = row;
    scores[at] = score;
    least = scoreAt(0);
  }

  const scoreAt = (at: number) => scores[at] ?? 0;

  return {
    offer,
    rows: () => [...rows].filter((_, at) => scoreAt(at) !== Number.NEGATIVE_INFINITY),
  };
}
