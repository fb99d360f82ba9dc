/** Measures the silence of a conversation in its recording's own time, over all channels. */
export interface Silence {
  /** Notes that a channel has reached this instant (epoch ms); `speaking`: someone speaks there. */
  note(channel: number, at: number, speaking: boolean): void;
  /** Notes that an image was taken at this instant (epoch ms), which interrupts the silence as well. */
  seen(at: number): void;
  /** Whether the silence has reached the timeout, and nobody has spoken since. */
  readonly isOver: boolean;
}

export function createSilence({
  timeoutMs,
  onOver,
}: {
  timeoutMs: number;
  /** Called once, until someone speaks again. */
  onOver(): void;
}): Silence {
  const speakers = new Set<number>();
  /** When someone last spoke; at first, when the recording began. */
  let since: number | null = null;
  let isOver = false;
  return {
    note(channel, at, speaking) {
      since ??= at;
      if (speaking) {
        speakers.add(channel);
        since = Math.max(since, at);
        isOver = false;
        return;
      }
      speakers.delete(channel);
      if (isOver || speakers.size > 0 || at - since < timeoutMs) return;
      isOver = true;
      onOver();
    },
    seen(at) {
      since = Math.max(since ?? at, at);
      isOver = false;
    },
    get isOver() {
      return isOver;
    },
  };
}
