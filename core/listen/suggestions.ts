import type { Piece } from '../domain/conversations.ts';
import type { Channels } from './channels.ts';
import type { ClientMessage, SuggestedSegment } from './protocol.ts';

/** Text that the client brings along: it passes by the recogniser. */
export interface Suggestions {
  store(message: ClientMessage & { type: 'suggested_transcript' }): Promise<void>;
}

/** Suggested times count from the connection's first audio sample, or without audio from `ready`. */
export function createSuggestions(channels: Channels, readyAt: number): Suggestions {
  return {
    async store({ stt_provider, segments }) {
      if (segments.length === 0) return;
      await channels.begin(readyAt);
      const zero = channels.startedAt();
      const pieces = segments.map(segment => pieceOf(segment, zero, stt_provider));
      await channels.write(pieces, Math.min(...pieces.map(({ startAt }) => startAt)));
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
