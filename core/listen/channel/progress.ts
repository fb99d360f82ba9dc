import type { Clock, Segment, Stream, StreamProgress } from '../../contract/model.ts';
import type { Conversations, Piece } from '../../domain/conversations/conversations.ts';
import type { Connection } from '../connection/parameters.ts';
import type { SampleCount } from '../connection/sample-count.ts';
import type { HeldStream } from '../spool/spool.ts';
import type { Send, Thread } from '../thread.ts';
import type { Hearing } from './hearing.ts';

/** Progress of a channel: stored with its text, and during silence. */
export interface Progress {
  /**
   * Stores pieces of text together with the progress. `at`: when their speech began, epoch ms. Returns the new and
   * changed segments.
   */
  write(pieces: Piece[], at: number): Promise<Segment[]>;
  /** Stores the progress alone. */
  store(): Promise<void>;
  /** Whether nothing but silence came for a while, so that no text will store the progress. */
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
  held: HeldStream;
  /** Number of held messages, as told to the client. */
  received: number;
  streams: readonly Pick<Stream, 'channel' | 'received'>[];
  /** Called at once when the disk accepts no more, as the client may send nothing for long. */
  onBroken(error: Error): void;
  /** Null: the client does not ask for acknowledgements. */
  samples: Pick<SampleCount, 'below'> | null;
  send: Send;
}

/**
 * Tells a client that asked for it which of its messages are stored, each number once, and releases messages that no
 * channel needs any more.
 */
export function createSettling(options: SettlingOptions) {
  const { held, received, streams, samples, onBroken, send } = options;
  const reached = new Map<number, Pick<StreamProgress, 'received'>>(
    streams.map(stream => [stream.channel, stream]),
  );
  let acknowledged = received;

  function acknowledge(messages: number) {
    if (!samples || messages <= acknowledged) return;
    acknowledged = messages;
    send({ type: 'ack', messages, samples: samples.below(messages) });
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

/** Number of messages that no channel needs any more. */
export function settledOf(channels: readonly Pick<StreamProgress, 'received'>[]): number {
  return Math.min(...channels.map(({ received }) => received));
}
