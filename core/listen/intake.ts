import type { Clock } from '../model.ts';
import type { Channels } from './channels.ts';
import { type Input, inputOf } from './input.ts';
import { type Connection, quietMs, Refusal } from './parameters.ts';
import { CLOSE } from './protocol.ts';
import type { Client } from './session.ts';
import { type AudioEntry, type HeldStream, MAX_MESSAGES } from './spool.ts';
import type { Suggestions } from './suggestions.ts';
import type { Thread } from './thread.ts';
import { createTurn } from './turn.ts';

/** What comes in: the messages of a client, numbered and held; what is no audio is carried to who does what it asks. */
export interface Intake {
  /** Resolves when the client has gone, and all that it said is held or, once aborted, forgotten. */
  run(): Promise<void>;
  readonly counts: Readonly<{
    /** Messages of a type that we do not know. */
    ignored: number;
    /** Audio that was held already. */
    repeated: number;
  }>;
}

/** Longest sum of gaps between two messages: what a field of 32 bits holds, 49 days. */
const MAX_GAP_MS = 2 ** 32 - 1;

interface IntakeOptions {
  connection: Connection;
  held: HeldStream;
  /** What the client was told that is held: without a `from` it goes on there. */
  received: number;
  channels: Channels;
  suggestions: Suggestions;
  thread: Thread;
  client: Client;
  clock: Clock;
}

export function createIntake(options: IntakeOptions): Intake {
  const { connection, held, received, channels, suggestions, thread, clock } = options;
  const { inbox, send, on } = options.client;
  const counts = { ignored: 0, repeated: 0 };
  let next = connection.from ?? received;
  /** Belongs to the next message, and is forgotten with it where that is held already. */
  let gapMs = 0;

  /** Undefined: it is done. A stream has fifty messages a second, and a server thousands: few of them wait for anything. */
  function obey(input: Input): Promise<void> | undefined {
    switch (input.type) {
      case 'audio':
        return take(input.bytes);
      case 'quiet':
        held.pause();
        return;
      case 'gap':
        gapMs = Math.min(gapMs + input.ms, MAX_GAP_MS);
        return;
      case 'finish_conversation':
        return finish();
      case 'suggested_transcript':
        if (connection.customStt) return suggestions.store(input);
        refuse('suggested_transcript needs custom_stt=enabled');
        return;
      case 'invalid':
        refuse('This is no message of this interface');
        return;
      case 'unknown':
        counts.ignored += 1;
        return;
      case 'keep_alive':
        return;
    }
  }

  function take(bytes: Buffer): Promise<void> | undefined {
    on('audio');
    if (next >= MAX_MESSAGES)
      throw new Refusal(CLOSE.policy, `A stream has at most ${MAX_MESSAGES} messages; begin another`);
    const entry = { kind: 'audio' as const, number: next, gapMs, at: clock.now(), bytes };
    next += 1;
    gapMs = 0;
    if (entry.number < held.next) {
      counts.repeated += 1;
      return;
    }
    return connection.customStt ? pass(entry) : held.append(entry);
  }

  /** It is never transcribed: nothing to hold it for. */
  async function pass(entry: AudioEntry) {
    await channels.take(entry);
    await channels.storeSilence();
  }

  async function finish() {
    if (!connection.customStt) return held.append({ kind: 'finish', number: held.next, at: clock.now() });
    // Suggestions are stored as they come.
    send({ type: 'conversation_finished', conversation_id: await thread.finish() });
  }

  function refuse(message: string) {
    send({ type: 'error', code: 'invalid_message', message });
  }

  return {
    async run() {
      // Who comes back may have nothing more to say: what was said before is not waiting for more.
      const turn = createTurn(); // one packet of the network may bring thousands of messages
      const quiet = setTimeout(() => held.pause(), quietMs(connection.stream));
      try {
        for await (const message of inbox) {
          turn.begin();
          const input = inputOf(message);
          if (input.type === 'audio') clearTimeout(quiet); // the inbox tells of later pauses
          const obeying = obey(input);
          if (obeying) await obeying;
          const rest = turn.end();
          if (rest) await rest;
        }
      } finally {
        clearTimeout(quiet);
      }
      held.end();
    },
    counts,
  };
}
