import type { ServerResponse } from 'node:http';

/** A client that reads nothing of a long response for this long is disconnected. */
const STALLED_MS = 60_000;

export function cutOffStalled(response: ServerResponse): void {
  response.setTimeout(STALLED_MS, () => response.destroy());
}
