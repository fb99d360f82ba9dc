import type { Clock } from '../../contract/model.ts';
import type { EventBus, Events } from '../../runtime/events.ts';

type Told = Events['conversation.processed'][0] | Events['conversation.dropped'][0];

/** Watches, from now on, for the end of a conversation's processing, or of the conversation itself. */
export function awaitEnd({
  events,
  clock,
  userId,
  conversationId,
}: {
  events: EventBus;
  clock: Clock;
  userId: string;
  conversationId: string;
}): { wait(ms: number): Promise<void>; close(): void } {
  const over = new AbortController();
  const look = (told: Told) => {
    const id = 'conversation' in told ? told.conversation.id : told.conversationId;
    if (told.userId === userId && id === conversationId) over.abort();
  };
  events.on('conversation.processed', look);
  events.on('conversation.dropped', look);

  return {
    /** Resolves when it has ended, or after `ms`. */
    wait: ms => clock.sleep(ms, over.signal).catch(() => {}),
    close() {
      over.abort();
      events.off('conversation.processed', look);
      events.off('conversation.dropped', look);
    },
  };
}
