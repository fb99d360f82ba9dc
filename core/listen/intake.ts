import type { Hearing } from './hearing.ts';
import type { Inbox } from './inbox.ts';
import { type Input, inputOf } from './input.ts';
import type { Connection } from './parameters.ts';
import type { Progress } from './progress.ts';
import type { Suggestions } from './suggestions.ts';
import type { Tasks } from './tasks.ts';
import type { Send, Thread } from './thread.ts';

/** What comes in: the messages of a client, each carried to who does what it asks for. */
export interface Intake {
  /** Resolves when the client has gone, and all that it said is heard or, once aborted, forgotten. */
  run(inbox: Inbox): Promise<void>;
  /** Messages of a type that we do not know. */
  readonly ignored: number;
}

interface IntakeOptions {
  connection: Connection;
  hearing: Hearing;
  suggestions: Suggestions;
  thread: Thread;
  tasks: Tasks;
  progress: Progress;
  send: Send;
  signal: AbortSignal;
}

export function createIntake(options: IntakeOptions): Intake {
  const { connection, hearing, suggestions, thread, tasks, progress, send, signal } = options;
  let ignored = 0;

  async function obey(input: Input) {
    switch (input.type) {
      case 'audio':
        return hearing.take(input.bytes);
      case 'quiet':
        return hearing.flush();
      case 'gap':
        return hearing.gap(input.ms);
      case 'finish_conversation':
        return finish();
      case 'suggested_transcript':
        if (connection.customStt) return suggestions.store(input);
        return refuse('suggested_transcript needs custom_stt=enabled');
      case 'invalid':
        return refuse('This is no message of this interface');
      case 'unknown':
        ignored += 1;
        return;
      case 'keep_alive':
        return;
    }
  }

  async function finish() {
    if (connection.customStt) return thread.finish(); // suggestions do not pass through the tasks
    await hearing.flush();
    tasks.finish();
  }

  function refuse(message: string) {
    send({ type: 'error', code: 'invalid_message', message });
  }

  return {
    async run(inbox) {
      for await (const message of inbox) {
        await obey(inputOf(message));
        await progress.storeSilence();
      }
      if (signal.aborted) return;
      await hearing.flush();
      tasks.end();
    },
    get ignored() {
      return ignored;
    },
  };
}
