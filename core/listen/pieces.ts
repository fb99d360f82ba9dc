import { z } from 'zod';
import type { GrowingUtterance } from '../audio/utterance.ts';
import type { Transcript, Utterance } from '../contract/plugin.ts';
import { SPEAKER } from '../domain/conversations/segments.ts';
import { AppError } from '../runtime/errors.ts';

/** An utterance of which we are told when it has ended, and how far it has grown. */
export type EndingUtterance = Utterance & Pick<GrowingUtterance, 'isOpen' | 'ended' | 'endSample'>;

/** To one utterance, those that are not final included. */
const MAX_PIECES = 5000;

const MAX_CHARS = 10_000;

const Piece = z.object({
  text: z.string().refine(text => text.length <= MAX_CHARS && !text.includes('\0')), // its `max` counts all of 10 MB
  startSample: z.number().int(),
  endSample: z.number().int(),
  final: z.boolean(),
  speaker: z.string().regex(SPEAKER).optional(),
  language: z.string().max(100).optional(),
});

/**
 * Holds what a recogniser answers to one utterance to the contract: a plugin is somebody else's code. The returned
 * function takes its pieces one by one, and throws `upstream_error` at one that breaks it.
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
