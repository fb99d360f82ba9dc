import type { TranscriptSize } from '../../contract/plugin.ts';

const MAX_SEGMENTS = 20_000;
const MAX_TEXT_BYTES = 8_000_000;
/** Maximum characters of an imported or corrected segment. */
export const MAX_SEGMENT_CHARS = 20_000;

/** Limits of a conversation, for messages. */
export const MAX_SIZE = 'a conversation has at most 20,000 segments and 8 MB of text';

/** Whether these sizes together exceed the limits of a conversation. */
export function exceedsSize(sizes: readonly TranscriptSize[]): boolean {
  const { segments, textBytes } = sumOf(sizes);
  return segments > MAX_SEGMENTS || textBytes > MAX_TEXT_BYTES;
}

export function sumOf(sizes: readonly TranscriptSize[]): TranscriptSize {
  const sum = (of: (size: TranscriptSize) => number) => sizes.reduce((all, size) => all + of(size), 0);
  return { segments: sum(size => size.segments), textBytes: sum(size => size.textBytes) };
}

/** Measures segments that are not stored yet. */
export function sizeOf(segments: readonly { text: string }[]): TranscriptSize {
  const textBytes = segments.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  return { segments: segments.length, textBytes };
}

/** Maximum number of remembered sizes; that of the conversation that grew longest ago is dropped first. */
const MAX_KNOWN = 2000;

export type Growth = ReturnType<typeof createGrowth>;

/** Remembers the sizes of growing conversations: counting their segments again and again would take ever longer. */
export function createGrowth() {
  const known = new Map<string, TranscriptSize>();
  return {
    /** @param count called where the size is not known */
    async sizeOf(id: string, count: () => Promise<TranscriptSize>): Promise<TranscriptSize> {
      return known.get(id) ?? (await count());
    },
    set(id: string, size: TranscriptSize): void {
      known.delete(id);
      known.set(id, size);
      if (known.size > MAX_KNOWN) known.delete(known.keys().next().value ?? '');
    },
    forget(id: string): void {
      known.delete(id);
    },
  };
}
