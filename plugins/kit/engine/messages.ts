/** Messages between core and the recogniser's process, over the IPC channel of `child_process.fork`. */

/** One final piece. Positions in the stream, in samples. */
export interface Piece {
  text: string;
  startSample: number;
  endSample: number;
  /** ISO 639-1, where the engine detects it. */
  language?: string;
  /** Voice vector, from an engine that computes those; the text is empty. */
  vector?: Float32Array;
}

/** Hints for recognition. */
export interface Hints {
  /** ISO 639-1, or `multi`. */
  language: string;
  /** Names and words that the recogniser should expect. */
  vocabulary: readonly string[];
}

export type ToChild =
  /** The first message: what to load. Answered by `ready` or `refused`. */
  | { type: 'load'; options: unknown }
  /** Begins an utterance. Audio may follow at once; it is acknowledged as it is consumed. */
  | { type: 'begin'; call: number; startSample: number; hints: Hints }
  | { type: 'audio'; call: number; samples: Int16Array }
  /** No more audio. Answered by the last pieces and `done`. */
  | { type: 'end'; call: number }
  /** The result is no longer needed. Not answered. */
  | { type: 'cancel'; call: number }
  /** Answered by `pong`, which shows that the process is not blocked. */
  | { type: 'ping' };

export type FromChild =
  | { type: 'ready' }
  /** It cannot load, and trying again would not help. */
  | { type: 'refused'; message: string }
  | { type: 'consumed'; call: number; samples: number }
  | { type: 'piece'; call: number; piece: Piece }
  | { type: 'done'; call: number }
  | { type: 'failed'; call: number; message: string }
  | { type: 'pong' };
