import type { Stream, StreamProgress } from '../contract/model.ts';
import type { linkedAbort } from './abort.ts';
import { createHearing, type Hearing } from './hearing.ts';
import type { LiveAudio } from './live-audio.ts';
import type { Connection } from './parameters.ts';
import { createProgress, type Progress } from './progress.ts';
import type { Recogniser } from './recogniser.ts';
import type { Service } from './service.ts';
import type { SessionDeps } from './session.ts';
import type { Silence } from './silence.ts';
import { createTasks, type Tasks } from './tasks.ts';
import type { Thread } from './thread.ts';
import { createTranscriber, type Transcriber } from './transcriber.ts';

/** One channel of a connection: from its messages to its stored words. */
export interface Channel {
  /** As its row and its messages have it; 0: the only one. */
  number: number;
  hearing: Hearing;
  tasks: Tasks;
  recogniser: Recogniser;
  progress: Progress;
  transcriber: Transcriber;
}

/** Speaker of a channel that carries one voice. */
export interface Voice {
  speaker: string;
  isUser: boolean;
}

/** By number of the channel. */
const VOICES: Readonly<Record<number, Voice>> = {
  1: { speaker: 'SPEAKER_00', isUser: true },
  2: { speaker: 'SPEAKER_01', isUser: false },
};

/** A channel's way in. */
interface ChannelInput {
  stream: Stream;
  tasks: Tasks;
  hearing: Hearing;
}

/** Opens an input for each channel, or none: nothing can be stored without them. */
export async function openInputs(
  { connection, streams, ending }: Shared,
  silence: Silence,
  live: LiveAudio | null,
  { conversations, metrics, clock, maxQueuedBytes, vad }: SessionDeps,
): Promise<ChannelInput[]> {
  const inputs: ChannelInput[] = [];
  try {
    for (const stream of streams) {
      const tasks = createTasks();
      const hearing = await createHearing({
        connection,
        channel: stream.channel,
        stored: stream,
        vad: vad(),
        now: () => clock.now(),
        metrics,
        maxQueuedBytes: maxQueuedBytes / streams.length,
        signal: ending.signal,
        silence,
        onUtterance: tasks.utterance,
        onAudio: (...heard) => live?.take(stream.channel, ...heard),
        onAnchor: at => conversations.anchor(connection.userId, stream.id, at),
      });
      inputs.push({ stream, tasks, hearing });
    }
    return inputs;
  } catch (error) {
    for (const { hearing } of inputs) hearing.close();
    throw error;
  }
}

interface Shared {
  connection: Connection;
  streams: readonly Stream[];
  ending: ReturnType<typeof linkedAbort>;
}

interface ChannelOptions extends Omit<Shared, 'streams'>, ChannelInput {
  service: Service;
  thread: Thread;
  /** Something was held when the connection began. */
  isReplay: boolean;
  onStored(channel: number, progress: StreamProgress): void;
}

export function openChannel(
  options: ChannelOptions,
  { conversations, metrics, clock, ...deps }: SessionDeps,
): Channel {
  const { connection, ending, stream, tasks, hearing, service, thread, isReplay } = options;
  const { id: streamId, channel: number } = stream;
  const { signal } = ending;
  const recogniser = deps.recogniser(connection, signal, {
    onLost: error => service.lost(number, error.code),
    onBack: provider => service.back(number, provider),
    onGone: error => ending.abort(service.failed(error, recogniser.provider)),
  });
  const progress = createProgress({
    connection,
    streamId,
    conversations,
    hearing,
    thread,
    clock,
    onStored: progress => options.onStored(number, progress),
  });
  const shared = {
    streamId,
    isReplay,
    hearing,
    recogniser,
    quarantine: deps.quarantine,
    labeller: deps.voices?.open(connection.userId, { withProfile: connection.withProfile }) ?? null,
    finalPass: () => deps.finalPass?.begin({ ...connection, streamId }) ?? null,
    service,
    thread,
    progress,
    metrics,
    signal,
  };
  const transcriber = createTranscriber({ voice: VOICES[number], ...shared });
  return { number, tasks, hearing, recogniser, progress, transcriber };
}
