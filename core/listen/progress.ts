import type { Clock, Segment, Stream, StreamProgress } from '../contract/model.ts';
import type { Conversations, Piece } from '../domain/conversations/conversations.ts';
import type { Hearing } from './hearing.ts';
import type { Connection } from './parameters.ts';
import type { HeldStream } from './spool/spool.ts';
import type { Send, Thread } from './thread.ts';

/** How far a channel has come: stored with its text, and through its silence. */
export interface Progress {
  /**
   * Stores pieces of text, and with them what is done. `at`: when their speech began, epoch ms. Answers the segments
   * that are new or have changed.
   */
  write(pieces: Piece[], at: number): Promise<Segment[]>;
  /** Stores what is done. */
  store(): Promise<void>;
  /** Nothing but silence has come for a while, which no text will bring along. */
  readonly isSilent: boolean;
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
    async write(pieces, at) {
      const progress = hearing.progress();
      const segments = await thread.write(pieces, { id: streamId, progress }, at);
      stored(progress);
      return segments;
    },
    store,
    get isSilent() {
      return hearing.waiting === 0 && clock.now() - storedAt >= PROGRESS_MS;
    },
  };
}

interface SettlingOptions {
  /** Whether the client wants to know. */
  ack: boolean;
  held: HeldStream;
  /** Number up to which messages are held, as told to the client. */
  received: number;
  streams: readonly Pick<Stream, 'channel' | 'received'>[];
  /** The disk takes no more; told at once, as the client may have nothing more to say for long. */
  onBroken(error: Error): void;
  /** Samples of the first messages, at the stream's own rate. */
  samplesBelow(messages: number): number;
  send: Send;
}

/**
 * Tells a client that asked for it which of its messages it need not keep any longer, each number once, and lets go of
 * those that no channel needs any more.
 */
export function createSettling(options: SettlingOptions) {
  const { ack, held, received, streams, samplesBelow, onBroken, send } = options;
  const reached = new Map<number, Pick<StreamProgress, 'received'>>(
    streams.map(stream => [stream.channel, stream]),
  );
  let acknowledged = received;

  function acknowledge(messages: number) {
    if (!ack || messages <= acknowledged) return;
    acknowledged = messages;
    send({ type: 'ack', messages, samples: samplesBelow(messages) });
  }

  held.onSynced(() => {
    acknowledge(held.durable);
    if (held.broken) onBroken(held.broken);
  });
  return (channel: number, progress: Pick<StreamProgress, 'received'>) => {
    reached.set(channel, progress);
    const settled = settledOf([...reached.values()]);
    held.settle(settled);
    acknowledge(settled);
  };
}

/** Messages that no channel needs any more. */
export function settledOf(channels: readonly Pick<StreamProgress, 'received'>[]): number {
  return Math.min(...channels.map(({ received }) => received));
}
