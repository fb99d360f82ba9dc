/** The silence of a conversation, in its recording's own time: that of all channels at once. */
export interface Silence {
  /** A channel has come to this instant (epoch ms); `speaking`: somebody can be heard there. */
  note(channel: number, at: number, speaking: boolean): void;
  /** Something was seen at this instant (epoch ms), which is no silence either. */
  seen(at: number): void;
  /** It has lasted for the timeout, and nobody has spoken since. */
  readonly isOver: boolean;
}

export function createSilence({
  timeoutMs,
  onOver,
}: {
  timeoutMs: number;
  /** Told once, until somebody speaks. */
  onOver(): void;
}): Silence {
  const speakers = new Set<number>();
  /** When somebody could last be heard; at first, when the recording began. */
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
