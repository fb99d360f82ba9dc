import type { Clock } from '../clock.ts';

export interface BudgetLimits {
  messagesPerSecond: number;
  bytesPerSecond: number;
}

/**
 * Limits the rate of one peer; a burst may have the size of one second.
 * @returns a function that counts bytes and returns whether they are within the limit
 */
export function createBudget(
  { messagesPerSecond, bytesPerSecond }: BudgetLimits,
  clock: Clock,
): (bytes: number, messages?: number) => boolean {
  let messages = messagesPerSecond;
  let bytes = bytesPerSecond;
  let filledAt = clock.now();
  return (newBytes, newMessages = 1) => {
    const seconds = Math.max(0, clock.now() - filledAt) / 1000;
    filledAt = clock.now();
    messages = Math.min(messagesPerSecond, messages + seconds * messagesPerSecond) - newMessages;
    bytes = Math.min(bytesPerSecond, bytes + seconds * bytesPerSecond) - newBytes;
    return messages >= 0 && bytes >= 0;
  };
}
