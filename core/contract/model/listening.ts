/** A user's settings for speech beyond its transcription. */
export interface SpeechSettings {
  userId: string;
  /** ISO 639-1 of the target language of translations; null: no translation. */
  translateTo: string | null;
  /** Whether voices are separated, if the operator has set that up. */
  labelVoices: boolean;
  /** Days for which audio is kept after it became text; null: it is deleted at once. */
  keepAudioDays: number | null;
}

/** Progress of a stream. Written in the same transaction as its segments. */
export interface StreamProgress {
  /** Sample up to which everything is stored as segments or known to be silence. Replay starts here, nowhere else. */
  through: number;
  /** Number of client messages wholly below `through`, which need not be sent again. */
  received: number;
  /** Sample at which message number `received` begins (at most `through`). */
  receivedSample: number;
}

/** Parameters of a connection that are needed to process its audio after the connection has closed. */
export interface StreamSetup {
  sampleRate: number;
  channels: 1 | 2;
  /** ISO 639-1, or `multi`. */
  language: string;
  /** Silence that ends a conversation. */
  timeoutMs: number;
  /** Preferred recogniser. */
  sttService: string | null;
  /** The client brings its own text: the audio is never transcribed. */
  customStt: boolean;
  /** Whether the owner's voice is looked for; absent in old rows: true. */
  withProfile?: boolean;
  /** When its first sample was recorded (epoch ms), if before it was sent. */
  recordedAt: number | null;
}

/** One recording, as its client identifies it; a connection carries a part of it. One row per channel. */
export interface Stream extends StreamProgress {
  id: string;
  userId: string;
  /** The client's id of the stream (`stream=`); null for a connection that cannot resume. */
  clientStream: string | null;
  channel: number;
  conversationId: string;
  source: string;
  deviceId: string | null;
  codec: string;
  /** Parameters of the newest connection; null in rows from before they were stored. */
  setup: StreamSetup | null;
  /** Wall-clock time of sample 0; null until audio came. */
  anchorAt: number | null;
}
