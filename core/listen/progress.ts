import type { Conversations, Piece } from '../domain/conversations.ts';
import type { Clock, StreamProgress } from '../model.ts';
import type { Hearing } from './hearing.ts';
import type { Connection } from './parameters.ts';
import type { Send, Thread } from './thread.ts';

/** How far a stream has come: stored with its text, and through its silence. */
export interface Progress {
  /** Stores pieces of text, and with them what is done. `sample`: where their speech begins. */
  write(pieces: Piece[], sample: number): Promise<void>;
  /** Stores what is done. */
  store(): Promise<void>;
  /** Stores it where nothing but silence has come for a while, which no text will bring along. */
  storeSilence(): Promise<void>;
}

interface ProgressOptions {
  connection: Connection;
  streamId: string;
  conversations: Conversations;
  hearing: Hearing;
  thread: Thread;
  clock: Clock;
  onStored(progress: StreamProgress): void;
}

/** Progress through silence is stored at most this often. */
const PROGRESS_MS = 10_000;

export function createProgress(options: ProgressOptions): Progress {
  const { connection, streamId, conversations, hearing, thread, clock } = options;
  let storedAt = clock.now();

  function stored(progress: StreamProgress) {
    storedAt = clock.now();
    options.onStored(progress);
  }

  async function store() {
    const progress = hearing.progress();
    await conversations.advance(connection.userId, streamId, progress);
    stored(progress);
  }

  return {
    async write(pieces, sample) {
      const progress = hearing.progress();
      await thread.write(pieces, progress, sample);
      stored(progress);
    },
    store,
    async storeSilence() {
      if (hearing.waiting === 0 && clock.now() - storedAt >= PROGRESS_MS) await store();
    },
  };
}

/** Tells a client that asked for it which of its messages it need not keep any longer, each number once. */
export function acknowledge(connection: Connection, received: number, send: Send) {
  let acknowledged = received;
  return (messages: number, samples: number) => {
    if (!connection.ack || messages <= acknowledged) return;
    acknowledged = messages;
    send({ type: 'ack', messages, samples });
  };
}
