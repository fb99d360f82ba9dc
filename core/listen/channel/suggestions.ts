import type { Piece } from '../../domain/conversations/conversations.ts';
import { OWNER } from '../../domain/conversations/corrections.ts';
import { speakerOf } from '../../domain/conversations/segments.ts';
import type { ClientMessage, SuggestedSegment } from '../protocol.ts';
import type { Channels } from './channels.ts';

export type Suggested = ClientMessage & { type: 'suggested_transcript' };

/** Text from the client, which bypasses the recogniser. */
export interface Suggestions {
  /** Throws `invalid_request` where a person is unknown; nothing is stored then. */
  store(message: Suggested): Promise<void>;
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
  const isOwner = segment.person_id === OWNER;
  return {
    text: segment.text,
    startAt: zero + segment.start * 1000,
    endAt: zero + segment.end * 1000,
    speaker: segment.speaker ?? speakerOf(segment.speaker_id ?? 0),
    ...(segment.speaker_id == null ? {} : { speakerId: segment.speaker_id }),
    isUser: segment.is_user || isOwner,
    personId: isOwner ? null : (segment.person_id ?? null),
    sttProvider,
  };
}
