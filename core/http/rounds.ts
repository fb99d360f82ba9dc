import type { IncomingMessage, ServerResponse } from 'node:http';
import { Deque } from '../runtime/queue.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * Begins so many requests at most in one round of the event loop, and the others in the next ones, in order. A client that
 * sends hundreds at once then delays the audio of others no longer than `most` requests do.
 */
export function inRounds(most: number, answer: Answer): Answer {
  const waiting = new Deque<[IncomingMessage, ServerResponse]>();
  let begun = 0;

  function begin(request: IncomingMessage, response: ServerResponse): void {
    if (begun === 0) setImmediate(nextRound);
    begun += 1;
    answer(request, response);
  }

  function nextRound(): void {
    begun = 0;
    while (begun < most) {
      const next = waiting.shift();
      if (!next) return;
      if (!next[0].destroyed) begin(...next); // else the client has gone
    }
  }

  return (request, response) => {
    if (begun < most) begin(request, response);
    else waiting.push([request, response]);
  };
}
