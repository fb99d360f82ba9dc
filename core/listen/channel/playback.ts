import type { Clock } from '../../contract/model.ts';
import { createTurn, isLate } from '../scheduler.ts';
import { type HeldStream, isAudio, LEAD_IN_MESSAGES } from '../spool/spool.ts';
import type { Channels } from './channels.ts';

interface PlaybackOptions {
  held: HeldStream;
  /** Messages whose text is stored. */
  settled: number;
  channels: Pick<Channels, 'take' | 'flush' | 'finish' | 'storeSilence' | 'inSpeech' | 'end'>;
  /** Whether the stream may continue in another connection: an utterance in progress is left open. */
  mayGoOn: boolean;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Plays the held messages whose text is not stored to their channels. Resolves at the end of the stream, with whether
 * it ends in the middle of speech, which is left open.
 */
export async function playHeld(options: PlaybackOptions): Promise<boolean> {
  const { held, settled, channels, mayGoOn, clock, signal } = options;
  const turn = createTurn();
  for await (const entry of held.read(Math.max(0, settled - LEAD_IN_MESSAGES))) {
    if (signal.aborted) return false;
    turn.begin(entry !== 'pause' && isLate(entry.at, clock.now()));
    if (entry === 'pause') await channels.flush();
    else if (isAudio(entry)) await channels.take(entry);
    else if (entry.number >= settled) {
      await channels.flush();
      channels.finish();
    }
    const storing = channels.storeSilence();
    if (storing) await storing;
    const rest = turn.end();
    if (rest) await rest;
  }
  if (signal.aborted) return false;
  const isOpen = mayGoOn && channels.inSpeech();
  if (!isOpen) await channels.flush();
  channels.end();
  return isOpen;
}
