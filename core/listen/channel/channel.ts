import type { Stream, StreamProgress } from '../../contract/model.ts';
import type { Spoken } from '../../domain/speech/clips.ts';
import type { linkedAbort } from '../../runtime/deadline.ts';
import type { Connection } from '../connection/parameters.ts';
import type { Pause } from '../connection/pause.ts';
import type { Service } from '../connection/service.ts';
import type { LiveAudio } from '../live-audio.ts';
import type { Recogniser } from '../recogniser/recogniser.ts';
import type { SessionDeps } from '../session.ts';
import type { Thread } from '../thread.ts';
import { createHearing, type Hearing } from './hearing.ts';
import { createProgress, type Progress } from './progress.ts';
import type { Silence } from './silence.ts';
import { createTasks, createTranscriber, type Tasks, type Transcriber } from './transcriber.ts';

/** One channel of a connection: from its messages to its stored words. */
export interface Channel {
  /** Number in its row and its messages; 0: the only channel. */
  number: number;
  hearing: Hearing;
  tasks: Tasks;
  recogniser: Recogniser;
  progress: Progress;
  transcriber: Transcriber;
}

/** Speaker of a channel that carries a single voice. */
export interface Voice {
  speaker: string;
  isUser: boolean;
}

/** By channel number. */
const VOICES: Readonly<Record<number, Voice>> = {
  1: { speaker: 'SPEAKER_00', isUser: true },
  2: { speaker: 'SPEAKER_01', isUser: false },
};

/** Opened input of a channel. */
interface ChannelInput {
  stream: Stream;
  tasks: Tasks;
  hearing: Hearing;
}

/** Opens an input for each channel, or none: nothing can be stored unless all work. */
export async function openInputs(
  { connection, streams, ending }: Shared,
  silence: Silence,
  live: LiveAudio | null,
  pause: Pick<Pause, 'coversAt'>,
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
        isDropped: pause.coversAt,
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
  /** Whether audio of an earlier connection was held when this one began. */
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
    clips: {
      areKept: () => deps.clips.areKept(connection.userId),
      keep: (spoken: Omit<Spoken, 'userId'>) => deps.clips.keep({ userId: connection.userId, ...spoken }),
    },
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
