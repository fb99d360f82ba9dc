import type { StreamStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { Streams } from './models.ts';
import { first, insert, keyOf, update } from './statements.ts';

export function streamStore({ read, write }: Access): StreamStore {
  return {
    async insert(stream) {
      await write(
        'streams.insert',
        db => insert(db, Streams, [stream]),
        `Channel ${stream.channel} of the stream ${stream.clientStream ?? stream.id} exists already`,
      );
    },
    byClientStream: (userId, clientStream, channel) =>
      read('streams.byClientStream', db =>
        first(db, Streams, [
          ['user_id = ?', userId],
          ['client_stream = ?', clientStream],
          ['channel = ?', channel],
        ]),
      ),
    get: (userId, id) => read('streams.get', db => first(db, Streams, keyOf(userId, id))),
    ids: userId =>
      read('streams.ids', async db => {
        const found: { id: string }[] = await db('streams').where({ user_id: userId }).select('id');
        return found.map(({ id }) => id);
      }),
    advance: (userId, id, progress) =>
      write('streams.advance', async db => {
        const { through, received, receivedSample } = progress;
        const patch = { through, received, receivedSample };
        return (await update(db, Streams, patch, [...keyOf(userId, id), ['through <= ?', through]])) > 0;
      }),
    async update(userId, id, patch) {
      if (Object.keys(patch).length === 0) return;
      await write('streams.update', db => update(db, Streams, patch, keyOf(userId, id)));
    },
    async moveAll(userId, fromConversation, toConversation) {
      await write('streams.moveAll', db =>
        update(db, Streams, { conversationId: toConversation }, [
          ['user_id = ?', userId],
          ['conversation_id = ?', fromConversation],
        ]),
      );
    },
  };
}
