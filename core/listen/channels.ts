import type { Clock } from '../contract/model.ts';
import type { Channel } from './channel.ts';
import type { Progress } from './progress.ts';
import type { AudioEntry } from './spool/spool.ts';
import { meeting } from './tasks.ts';
import type { Send, Thread } from './thread.ts';

/** The channels of one connection, as the one recording that they are. */
export interface Channels {
  /** One message, to the channel that it is of. */
  take(message: AudioEntry): Promise<void>;
  /** Ends the utterances that are still growing. */
  flush(): Promise<void>;
  /** The first audio was, or would have been, at this instant (epoch ms), unless audio has told already. */
  begin(at: number): Promise<void>;
  /** When the first audio of this connection was recorded, as far as it is known by now (epoch ms). */
  startedAt(): number;
  /** When what comes next may begin (epoch ms). */
  reachedAt(): number;
  /** Samples of the messages below `number`, as far as they are heard. */
  samplesBelow(number: number): number;
  /** Stores text that came ready-made. `at`: when its speech began, epoch ms. */
  write: Progress['write'];
  /** Where nothing but silence has come for a while. Undefined: it has not. */
  storeSilence(): Promise<void> | undefined;
  /** The conversation ends behind every utterance so far, of all channels; its client asked for it. */
  finish(): void;
  /** The same, as there is nothing but silence. */
  silence(): void;
  /** Nothing more will be heard. */
  end(): void;
  /** Whether speech waits. */
  hasSpeech(): boolean;
  /** Whether somebody is heard in the midst of speech. */
  inSpeech(): boolean;
  /** Whether audio came since the last call. */
  haveListened(): boolean;
  readonly counts: { messages: number; badFrames: number };
}

interface ChannelsOptions {
  all: readonly [Channel, ...Channel[]];
  thread: Thread;
  clock: Clock;
  send: Send;
  signal: AbortSignal;
  /** A message had no channel. */
  onBad(): void;
}

export function joinChannels({ all, thread, clock, send, signal, onBad }: ChannelsOptions): Channels {
  const [first] = all;
  let untagged = 0;

  /** Messages of two channels begin with its number. */
  async function takeOfOne(message: AudioEntry) {
    const number = message.bytes[0];
    if (!all.some(channel => channel.number === number)) {
      untagged += 1;
      onBad();
    }
    for (const channel of all) {
      if (channel.number !== number) await channel.hearing.pass(message);
      else await channel.hearing.take({ ...message, bytes: message.bytes.subarray(1) });
    }
  }

  /** The instant of each channel that knows what time it is. */
  function times(sampleOf: (channel: Channel) => number) {
    const known = all.filter(({ hearing }) => hearing.isAnchored);
    return known.length === 0 ? [clock.now()] : known.map(it => it.hearing.timeOf(sampleOf(it)));
  }

  async function store(channels: readonly Channel[]) {
    for (const { progress } of channels) await progress.store();
  }

  function finish(asked: boolean) {
    const work = meeting(all.length, signal, async () => {
      const conversation_id = await thread.finish();
      if (asked) send({ type: 'conversation_finished', conversation_id });
      if (all.length > 1) await store(all); // played again for one, it must not end what the other has begun since
    });
    for (const { tasks } of all) tasks.finish(work);
  }

  return {
    take: all.length === 1 ? first.hearing.take : takeOfOne,
    async flush() {
      for (const { hearing } of all) await hearing.flush();
    },
    async begin(at) {
      if (!all.some(({ hearing }) => hearing.isAnchored)) await first.hearing.begin(at);
    },
    startedAt: () => Math.min(...times(({ hearing }) => hearing.startSample)),
    reachedAt: () => Math.max(...times(({ hearing }) => hearing.progress().through)),
    samplesBelow: number => Math.max(...all.map(({ hearing }) => hearing.samplesBelow(number))),
    write: first.progress.write,
    storeSilence() {
      const silent = all.filter(({ progress }) => progress.isSilent);
      return silent.length > 0 ? store(silent) : undefined;
    },
    finish: () => finish(true),
    silence() {
      if (!all.every(({ tasks }) => tasks.isFinishing)) finish(false);
    },
    end() {
      for (const { tasks } of all) tasks.end();
    },
    hasSpeech: () => all.some(({ hearing }) => hearing.waiting > 0),
    inSpeech: () => all.some(({ hearing }) => hearing.inSpeech),
    haveListened: () => all.filter(({ hearing }) => hearing.hasListened()).length > 0,
    get counts() {
      const sum = { messages: untagged, badFrames: untagged };
      for (const { hearing } of all) {
        sum.messages += hearing.counts.messages;
        sum.badFrames += hearing.counts.badFrames;
      }
      return sum;
    },
  };
}
