/** Prepares the memories that a plugin found for the transaction that stores them. */
import type { Conversation, Segment } from '../contract/model.ts';
import type { UnderstoodMemory } from '../contract/plugin.ts';
import type { HeardMemory } from '../domain/memories/heard-memories.ts';
import type { CompareMemories } from '../domain/memories/memory-comparison.ts';

/**
 * Stores statements of the owner and of known people as memories, compared with existing ones. Statements of unknown
 * people are dropped.
 */
export function createRemember({ compareMemories }: { compareMemories: CompareMemories }) {
  return async (
    conversation: Conversation,
    segments: readonly Segment[],
    found: readonly UnderstoodMemory[],
    signal: AbortSignal,
  ): Promise<HeardMemory[]> => {
    const known = new Map(
      segments.filter(({ isUser, personId }) => isUser || personId !== null).map(each => [each.id, each]),
    );
    const begin = conversation.startedAt ?? conversation.createdAt;
    const carried = found.flatMap(({ text, from, topic, replaces }) => {
      const carrying = from.flatMap(id => known.get(id) ?? []);
      if (carrying.length === 0) return [];
      const segmentIds = carrying.slice(0, MAX_SEGMENTS).map(({ id }) => id);
      const saidAt = Math.round(begin + Math.max(...carrying.map(({ end }) => end)) * 1000);
      return [{ content: text, topic: topic ?? null, replaces: replaces ?? null, segmentIds, saidAt }];
    });
    return compareMemories(conversation.userId, carried, signal);
  };
}

/** Maximum number of segments that a memory may cite. */
const MAX_SEGMENTS = 20;

export type Remember = ReturnType<typeof createRemember>;
