import { SAMPLE_RATE } from '../../audio/pcm.ts';
import type { Analysis, Labeller } from '../../domain/speech/voices.ts';
import { type Span, samplesOf, voiceSpan } from '../recogniser/pieces.ts';
import type { Pending } from './hearing.ts';

/**
 * Analyses the voice of an utterance during the silence that ends it, and while the recogniser works, so that the text
 * does not wait for its speaker.
 */
export interface EarlyVoice {
  /** Returns the analysis of a piece: the early one where it is about the same speech, otherwise a new one. */
  analysisOf(piece: Span): Analysis;
  /** Cancels an analysis that has not been used. */
  end(): void;
}

/** Share of a piece that an early analysis must cover, and share of the analysed speech that the piece must cover. */
const LEAST_HELD = 0.8;
const LEAST_USED = 0.6;
/** Minimum speech for an early analysis. */
const LEAST_SAMPLES = SAMPLE_RATE / 2;

export function listenEarly(entry: Pending, analyse: Labeller['analyse'], signal: AbortSignal): EarlyVoice {
  const { utterance } = entry;
  let early: { span: Span; analysis: Analysis } | null = null;

  const begin = (span: Span) => analyse(() => samplesOf(utterance, span), signal);

  /** Starts another analysis if much has been said since the last pause. */
  function look() {
    const span = voiceSpan({
      startSample: entry.committed,
      endSample: entry.speechEnd ?? utterance.endSample,
    });
    if (span.endSample - span.startSample < LEAST_SAMPLES || (early && isSame(early.span, span))) return;
    early?.analysis.drop();
    early = { span, analysis: begin(span) };
  }

  entry.onLull = look;
  if (entry.speechEnd !== null || entry.ended) look();
  return {
    analysisOf(piece) {
      const span = spoken(piece, entry.speechEnd);
      const found = early;
      early = null;
      if (found && isSame(found.span, span)) return found.analysis;
      found?.analysis.drop();
      return begin(span);
    },
    end() {
      entry.onLull = null;
      early?.analysis.drop();
    },
  };
}

/** Leaves out the silence at the end of an utterance, which says nothing about a voice. */
function spoken({ startSample, endSample }: Span, speechEnd: number | null): Span {
  const isBeyond = speechEnd !== null && speechEnd > startSample && speechEnd < endSample;
  return voiceSpan({ startSample, endSample: isBeyond ? speechEnd : endSample });
}

/** Returns whether the early analysis covers the same speech as a piece. */
function isSame(early: Span, piece: Span): boolean {
  const both = Math.min(early.endSample, piece.endSample) - Math.max(early.startSample, piece.startSample);
  return both >= LEAST_HELD * lengthOf(piece) && both >= LEAST_USED * lengthOf(early);
}

function lengthOf({ startSample, endSample }: Span): number {
  return endSample - startSample;
}
