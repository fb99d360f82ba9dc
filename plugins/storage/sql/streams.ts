import type { StreamStore } from '../../../core/plugin.ts';
import type { Access } from './access.ts';
import { one, Streams } from './models.ts';

export function streamStore({ read, write }: Access): StreamStore {
  return {
    async insert(stream) {
      await write(
        'streams.insert',
        db => Streams.query(db).insert(stream),
        `Channel ${stream.channel} of the stream ${stream.clientStream ?? stream.id} exists already`,
      );
    },
    byClientStream: (userId, clientStream, channel) =>
      read('streams.byClientStream', db => {
        const query = Streams.query(db).where({ user_id: userId, client_stream: clientStream, channel });
        return one(query);
      }),
    get: (userId, id) => read('streams.get', db => one(Streams.query(db).where({ user_id: userId, id }))),
    advance: (userId, id, progress) =>
      write('streams.advance', async db => {
        const { through, received, receivedSample } = progress;
        const query = Streams.query(db).where({ user_id: userId, id }).where('through', '<=', through);
        return (await query.patch({ through, received, receivedSample })) > 0;
      }),
    async update(userId, id, patch) {
      if (Object.keys(patch).length === 0) return;
      await write('streams.update', db => Streams.query(db).where({ user_id: userId, id }).patch(patch));
    },
    async moveAll(userId, fromConversation, toConversation) {
      await write('streams.moveAll', db =>
        Streams.query(db)
          .where({ user_id: userId, conversation_id: fromConversation })
          .patch({ conversationId: toConversation }),
      );
    },
  };
}
