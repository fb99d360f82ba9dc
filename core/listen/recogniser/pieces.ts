import { z } from 'zod';
import { SAMPLE_RATE } from '../../audio/pcm.ts';
import type { GrowingUtterance } from '../../audio/utterance.ts';
import type { Transcript, Utterance } from '../../contract/plugin.ts';
import { SPEAKER } from '../../domain/conversations/segments.ts';
import { MAX_SECONDS } from '../../domain/speech/voices.ts';
import { AppError } from '../../runtime/errors.ts';

/** Utterance that reports its end and its growth. */
export type EndingUtterance = Utterance & Pick<GrowingUtterance, 'isOpen' | 'ended' | 'endSample'>;

/** Part of a stream. */
export type Span = Pick<Transcript, 'startSample' | 'endSample'>;

/** Pieces for one utterance, including those that are not final. */
const MAX_PIECES = 5000;

const MAX_CHARS = 10_000;

const Piece = z.object({
  text: z.string().refine(text => text.length <= MAX_CHARS && !text.includes('\0')), // unlike `max`, does not count the characters of 10 MB
  startSample: z.number().int(),
  endSample: z.number().int(),
  final: z.boolean(),
  speaker: z.string().regex(SPEAKER).optional(),
  language: z.string().max(100).optional(),
});

/**
 * Checks a recogniser's answers to one utterance against the contract, as plugins are third-party code. The returned
 * function takes the pieces one by one, and throws `upstream_error` at one that breaks it.
 */
export function pieceCheck(utterance: EndingUtterance): (answer: Transcript) => void {
  let after = utterance.startSample;
  let pieces = 0;
  return answer => {
    pieces += 1;
    if (pieces > MAX_PIECES) throw breach(`more than ${MAX_PIECES} pieces to one utterance`);
    const parsed = Piece.safeParse(answer);
    if (!parsed.success)
      throw breach(`a piece with a bad ${parsed.error.issues[0]?.path[0]?.toString() ?? 'shape'}`);
    const { startSample, endSample, final } = parsed.data;
    const piece = `a piece from sample ${startSample} to ${endSample}`;
    if (endSample < startSample || (final && endSample === startSample)) throw breach(piece);
    if (startSample < after || endSample > utterance.endSample)
      throw breach(`${piece}, where ${after} to ${utterance.endSample} is left`);
    if (final) after = endSample;
  };
}

function breach(what: string): AppError {
  return new AppError('upstream_error', `The recogniser breaks its contract: it answered ${what}`);
}

/** Part of a piece by which its voice is judged: the last seconds, in which a single person is more likely to speak. */
export function voiceSpan({ startSample, endSample }: Span): Span {
  return { startSample: Math.max(startSample, endSample - MAX_SECONDS * SAMPLE_RATE), endSample };
}

/** Reads samples of an utterance; those that are still to come are waited for. */
export async function samplesOf(
  utterance: Pick<Utterance, 'pcm'>,
  { startSample: from, endSample }: Span,
): Promise<Int16Array> {
  const samples = new Int16Array(endSample - from);
  let filled = 0;
  for await (const chunk of utterance.pcm(from)) {
    const part = chunk.subarray(0, samples.length - filled);
    samples.set(part, filled);
    filled += part.length;
    if (filled === samples.length) break;
  }
  return samples.subarray(0, filled);
}
