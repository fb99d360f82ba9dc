/** The contract of plugins that hear: recognisers, speech detectors and speaker models. Types only. */

// ── speech recognition ──────────────────────────────────────────────────────────────────────────────────────────

export interface SttProvider {
  /** Required sample rate in Hz. Core resamples. */
  sampleRate: 16000;
  /** ISO 639-1 codes, or `'any'`. `multi` in the list: it detects the language. */
  languages: readonly string[] | 'any';
  /** Name of the model for people and in responses; null: it has none. */
  model: string | null;
  /** Whether its text lacks capitals and punctuation: core then adds them by a simple rule. Absent: false. */
  plain?: boolean;
  /** Resolves once the engine has answered; rejects with `config_error`, `timeout` or `upstream_error`. */
  open(hints: SttHints): Promise<SttSession>;
}

export interface SttHints {
  /** ISO 639-1, or `multi`. */
  language: string;
  /**
   * Names and words that are likely to be spoken, the most important first, at most 500, each 1 to 100 characters on one
   * line, for engines that accept them. They are data of a user: never log them. Absent: none.
   */
  vocabulary?: readonly string[];
  signal: AbortSignal;
}

/** Session for one stream of audio. Core calls `transcribe` for one utterance at a time. */
export interface SttSession {
  /**
   * Yields the text of one utterance, which may still be growing. Pieces are in order and do not overlap;
   * a final piece is never revised. Throws if the engine failed: core then continues, with the next provider or
   * this one, from the end of the last final piece. Core does the same if a piece is invalid: out of order,
   * empty, beyond the audio, longer than 10,000 characters, or with U+0000 in it. For silence, yield nothing.
   */
  transcribe(utterance: Utterance, signal: AbortSignal): AsyncIterable<Transcript>;
  /** Rejects if the engine is lost between utterances: core then opens another session at once. Never resolves. */
  failed: Promise<never>;
  close(): Promise<void>;
}

/** Speech between two silences, at most 30 s. It can be read several times, from any sample. */
export interface Utterance {
  /** Position in its stream, in samples. */
  readonly startSample: number;
  /** Position after its last sample, in samples; undefined until the utterance has ended. */
  readonly endSample?: number | undefined;
  /** 0: the only channel; 1: the owner's side of a call, 2: the other. Each has its own session. */
  readonly channel: number;
  /** Signed 16-bit samples at 16 kHz mono from stream sample `from` on; ends when the utterance has ended. */
  pcm(from?: number): AsyncIterable<Int16Array>;
  /**
   * The audio from stream sample `from` on as a WAV file, once the utterance has ended: `endSample` is known then.
   * Rejects with the signal's reason as soon as that is aborted.
   */
  wav(from: number | undefined, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
}

/** Piece of transcribed speech. */
export interface Transcript {
  /** Text without surrounding spaces, never empty. */
  text: string;
  /** Positions in the stream, in samples. */
  startSample: number;
  endSample: number;
  /** Interim pieces never leave core. */
  final: boolean;
  /**
   * The engine's label of the voice: `SPEAKER_` and a number of two digits or more, `SPEAKER_00` for the first voice
   * of the session. A voice keeps its label within a session; labels of different sessions are unrelated.
   * Absent: the engine does not separate voices, or labels them anew for each utterance.
   */
  speaker?: string;
  /** ISO 639-1, if the engine detects the language. */
  language?: string;
}

// ── speech detection ────────────────────────────────────────────────────────────────────────────────────────────

export interface VadProvider {
  /** Samples at 16 kHz per probability. */
  windowSize: number;
  /** Opens a session for one stream. It is cheap, as the model is shared. */
  open(): VadSession;
}

export interface VadSession {
  /** Speech probability, 0 to 1, of each consecutive window; `samples.length` is a multiple of `windowSize`. */
  probabilities(samples: Int16Array): Float32Array | Promise<Float32Array>;
  /** Clears the state: the next samples are unrelated to the earlier ones. */
  reset(): void;
  close(): void;
}

// ── speakers ────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Turns speech into vectors: pieces of one voice get similar vectors, whatever the words. The similarity of two is
 * the cosine of their angle. Core decides which pieces belong to one person, and who that is.
 */
export interface SpeakerModel {
  /** Names model and version permanently: vectors of different ids are never compared. 1 to 100 of `a-z0-9._-`. */
  id: string;
  dimensions: number;
  /** Similarity from which two pieces of some seconds count as one voice. */
  sameVoice: number;
  /** Similarity from which a voice may get the name of a person; at least `sameVoice`. */
  namedVoice: number;
  /**
   * Returns a vector of length 1 for a quarter of a second to 30 s of speech, at 16 kHz mono. Called when a pause
   * begins, and again if speech continues: calls are often aborted. A finished segment waits for at most 400 ms.
   * Rejects with the signal's reason when it is aborted.
   */
  embed(samples: Int16Array, signal: AbortSignal): Promise<Float32Array>;
}
