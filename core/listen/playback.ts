import type { StreamProgress } from '../model.ts';
import type { Hearing } from './hearing.ts';
import type { Progress } from './progress.ts';
import { type HeldStream, isAudio, LEAD_IN_MESSAGES } from './spool.ts';
import type { Tasks } from './tasks.ts';

interface PlaybackOptions {
  held: HeldStream;
  stored: StreamProgress;
  hearing: Hearing;
  progress: Progress;
  tasks: Tasks;
  signal: AbortSignal;
}

/** Plays what is held, from where its text is not stored, to the hearing. Resolves at the end of the stream. */
export async function playHeld(options: PlaybackOptions): Promise<void> {
  const { held, stored, hearing, progress, tasks, signal } = options;
  for await (const entry of held.read(Math.max(0, stored.received - LEAD_IN_MESSAGES))) {
    if (signal.aborted) return;
    if (entry === 'pause') await hearing.flush();
    else if (isAudio(entry)) await hearing.take(entry);
    else if (entry.number >= stored.received) {
      await hearing.flush();
      tasks.finish();
    }
    await progress.storeSilence();
  }
  if (signal.aborted) return;
  await hearing.flush();
  tasks.end();
}
