import type { WireSegment } from '../../listen/protocol.ts';
import { onOneLine } from '../../runtime/terminal.ts';

type Piece = Pick<WireSegment, 'id' | 'text' | 'speaker' | 'start'>;

/** Writes segments as they come; of one that has grown, only what is new. */
export function createTranscript(write: (line: string) => void) {
  const shown = new Map<string, string>();
  return (segments: readonly Piece[]) => {
    for (const { id, text, speaker, start } of onOneLine(segments)) {
      const before = shown.get(id) ?? '';
      shown.set(id, text);
      if (text === before) continue;
      const added = text.startsWith(before) ? text.slice(before.length).trim() : text;
      write(`${clockTime(start)}  ${speaker}  ${added}`);
    }
  };
}

/** Seconds as `m:ss`. */
export function clockTime(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
