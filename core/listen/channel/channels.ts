import type { Clock } from '../../contract/model.ts';
import { orAborted } from '../../runtime/deadline.ts';
import type { AudioEntry } from '../spool/spool.ts';
import type { Send, Thread } from '../thread.ts';
import type { Channel } from './channel.ts';
import type { Progress } from './progress.ts';

/** All channels of one connection, as a single recording. */
export interface Channels {
  /** Passes one message to its channel. */
  take(message: AudioEntry): Promise<void>;
  /** Ends the utterances that are still growing. */
  flush(): Promise<void>;
  /** Sets the instant of the first sample (epoch ms), unless audio has set it already. */
  begin(at: number): Promise<void>;
  /** When the first audio of this connection was recorded, as far as known (epoch ms). */
  startedAt(): number;
  /** Earliest start of the audio that follows (epoch ms). */
  reachedAt(): number;
  /** Stores text from the client. `at`: when its speech began, epoch ms. */
  write: Progress['write'];
  /** Stores progress where nothing but silence came for a while. Undefined: there is nothing to store. */
  storeSilence(): Promise<void> | undefined;
  /** Ends the conversation after every utterance so far, of all channels, at the client's request. */
  finish(): void;
  /** Ends it likewise, because of silence. */
  silence(): void;
  /** Ends the input. */
  end(): void;
  /** Whether speech waits for its text. */
  hasSpeech(): boolean;
  /** Whether someone is in the middle of speech. */
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
  /** Called for a message without a channel. */
  onBad(): void;
}

export function joinChannels({ all, thread, clock, send, signal, onBad }: ChannelsOptions): Channels {
  const [first] = all;
  let untagged = 0;

  /** Takes a message that begins with its channel number. */
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

  async function skip(message: AudioEntry) {
    for (const { hearing } of all) await hearing.skip(message);
  }
  const takeSound = all.length === 1 ? first.hearing.take : takeOfOne;

  /** Collects the instants of all channels whose wall clock is known. */
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
      if (all.length > 1) await store(all); // otherwise replaying one channel could end what the other has begun since
    });
    for (const { tasks } of all) tasks.finish(work);
  }

  return {
    take: message => (message.bytes.length === 0 ? skip(message) : takeSound(message)),
    async flush() {
      for (const { hearing } of all) await hearing.flush();
    },
    async begin(at) {
      if (!all.some(({ hearing }) => hearing.isAnchored)) await first.hearing.begin(at);
    },
    startedAt: () => Math.min(...times(({ hearing }) => hearing.startSample)),
    reachedAt: () => Math.max(...times(({ hearing }) => hearing.progress().through)),
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

/**
 * Joins `count` participants: the work runs once, as soon as all of them have called; none continues before it is done.
 */
function meeting(count: number, signal: AbortSignal, work: () => Promise<void>): () => Promise<void> {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  done.catch(() => {}); // the last participant reports the failure
  let missing = count;
  return () => {
    missing -= 1;
    if (missing > 0) return orAborted(done, signal);
    const working = work();
    resolve(working);
    return working;
  };
}
