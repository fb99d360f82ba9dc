import type { Clock } from '../model.ts';
import type { Channels } from './channels.ts';
import { type HeldStream, isAudio, LEAD_IN_MESSAGES } from './spool.ts';
import { createTurn } from './turn.ts';

interface PlaybackOptions {
  held: HeldStream;
  /** Messages whose text is stored. */
  settled: number;
  channels: Pick<Channels, 'take' | 'flush' | 'finish' | 'storeSilence' | 'inSpeech' | 'end'>;
  /** The stream may go on in another connection: speech that it breaks off in is not ended. */
  mayGoOn: boolean;
  clock: Clock;
  signal: AbortSignal;
}

/** What is held can be heard far faster than it was said. Those who speak now go before who is so far behind. */
const LATE_MS = 500;

/**
 * Plays what is held, from where its text is not stored, to the channels. Resolves at the end of the stream: to
 * whether that is in the midst of speech, which is left open.
 */
export async function playHeld(options: PlaybackOptions): Promise<boolean> {
  const { held, settled, channels, mayGoOn, clock, signal } = options;
  const turn = createTurn(clock);
  for await (const entry of held.read(Math.max(0, settled - LEAD_IN_MESSAGES))) {
    if (signal.aborted) return false;
    turn.begin();
    if (entry === 'pause') await channels.flush();
    else if (isAudio(entry)) await channels.take(entry);
    else if (entry.number >= settled) {
      await channels.flush();
      channels.finish();
    }
    await channels.storeSilence();
    await turn.end(entry !== 'pause' && clock.now() - entry.at > LATE_MS);
  }
  if (signal.aborted) return false;
  const isOpen = mayGoOn && channels.inSpeech();
  if (!isOpen) await channels.flush();
  channels.end();
  return isOpen;
}
