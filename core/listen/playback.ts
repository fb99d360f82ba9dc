import type { Channels } from './channels.ts';
import { type HeldStream, isAudio, LEAD_IN_MESSAGES } from './spool.ts';

interface PlaybackOptions {
  held: HeldStream;
  /** Messages whose text is stored. */
  settled: number;
  channels: Channels;
  signal: AbortSignal;
}

/** Plays what is held, from where its text is not stored, to the channels. Resolves at the end of the stream. */
export async function playHeld(options: PlaybackOptions): Promise<void> {
  const { held, settled, channels, signal } = options;
  for await (const entry of held.read(Math.max(0, settled - LEAD_IN_MESSAGES))) {
    if (signal.aborted) return;
    if (entry === 'pause') await channels.flush();
    else if (isAudio(entry)) await channels.take(entry);
    else if (entry.number >= settled) {
      await channels.flush();
      channels.finish();
    }
    await channels.storeSilence();
  }
  if (signal.aborted) return;
  await channels.flush();
  channels.end();
}
