import type { Plugin } from '../../../core/contract/plugin.ts';
import { readAnswer } from '../../kit/message/webhook-answer.ts';

export default {
  name: 'transcript-processed',
  api: 1,
  title: 'Webhook transcript_processed: what is being said; its answer can ask for a notification',
  setup: () => ({
    webhook: {
      type: 'transcript_processed',
      aliases: ['realtime_transcript'],
      trigger: 'segments',
      render(event) {
        if (event.trigger !== 'segments' || event.wire.length === 0) return null;
        const { conversationId: session_id, userId: uid, wire: segments } = event;
        return {
          query: { session_id, uid },
          contentType: 'application/json',
          body: JSON.stringify({ session_id, uid, segments }),
        };
      },
      answer: readAnswer,
    },
  }),
} satisfies Plugin;
