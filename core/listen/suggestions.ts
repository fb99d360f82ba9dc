import { SAMPLE_RATE } from '../audio/pcm.ts';
import type { Piece } from '../domain/conversations.ts';
import type { Hearing } from './hearing.ts';
import type { Progress } from './progress.ts';
import type { ClientMessage, SuggestedSegment } from './protocol.ts';

/** Text that the client brings along: it passes by the recogniser. */
export interface Suggestions {
  store(message: ClientMessage & { type: 'suggested_transcript' }): Promise<void>;
}

interface SuggestionsOptions {
  hearing: Hearing;
  progress: Progress;
  /** When the client was told `ready`, epoch ms. */
  readyAt: number;
}

/** Suggested times count from the connection's first audio sample, or without audio from `ready`. */
export function createSuggestions({ hearing, progress, readyAt }: SuggestionsOptions): Suggestions {
  return {
    async store({ stt_provider, segments }) {
      if (segments.length === 0) return;
      await hearing.begin(readyAt);
      const zero = hearing.timeOf(hearing.startSample);
      const firstStart = Math.min(...segments.map(({ start }) => start));
      await progress.write(
        segments.map(segment => pieceOf(segment, zero, stt_provider)),
        hearing.startSample + Math.floor(firstStart * SAMPLE_RATE),
      );
    },
  };
}

function pieceOf(segment: SuggestedSegment, zero: number, sttProvider: string): Piece {
  return {
    text: segment.text,
    startAt: zero + segment.start * 1000,
    endAt: zero + segment.end * 1000,
    speaker: segment.speaker,
    isUser: segment.is_user,
    sttProvider,
  };
}
