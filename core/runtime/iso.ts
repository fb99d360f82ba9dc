let last = { at: Number.NaN, text: '' };

/** Formats epoch ms as ISO 8601 in UTC. The last result is kept: rows are mostly created and updated at the same time. */
export function toIso(at: number): string {
  if (at !== last.at) last = { at, text: new Date(at).toISOString() };
  return last.text;
}

export function toIsoOrNull(at: number | null): string | null {
  return at === null ? null : toIso(at);
}
