import { EventEmitter } from 'node:events';
import type {
  Conversation,
  Device,
  DeviceHappening,
  Photo,
  Segment,
  Translation,
} from '../contract/model.ts';

/** Events inside the server, emitted after the transaction that made them true has committed. */
export interface Events {
  /** New or changed segments of a conversation. `isReplaced`: a second recogniser has heard what was said in them. */
  segments: [{ userId: string; conversationId: string; segments: Segment[]; isReplaced?: boolean }];
  /** A vision model has looked at a photo. */
  'photo.described': [{ photo: Photo }];
  /** A segment of a conversation was translated. */
  translated: [{ userId: string; conversationId: string; segmentId: string; translations: Translation[] }];
  /** A conversation ended and its processing begins. */
  'conversation.processing': [{ userId: string; conversationId: string }];
  /** Processing is over: the conversation is `completed` (or `failed`). */
  'conversation.processed': [{ userId: string; conversation: Conversation }];
  /** A conversation was removed: it ended without a single segment, or its owner deleted it. */
  'conversation.dropped': [{ userId: string; conversationId: string }];
  /** Something of a user's was made, changed by hand, or removed. */
  changed: [{ userId: string; kind: 'conversation' | 'memory' | 'action_item'; id: string; change: Change }];
  /** A device of a user connected to speak, or is gone. `device` is what its client calls itself. */
  device: [{ userId: string; device: string | null; source: string; isConnected: boolean }];
  /** A bridge told of a wearable of a user, or the user changed it; `device` is as it is now, or was. */
  'device.happened': [{ userId: string; device: Device; happening: DeviceHappening }];
  /** Other hooks than before are told what happens to this user; null: to anyone. */
  'hooks.changed': [{ userId: string | null }];
  /** An API key of this user is refused from now on; null: all earlier ID tokens are; `all`: both. */
  'credential.revoked': [{ userId: string; keyId: string | null | 'all'; onEnd?: OnEnd | undefined }];
}

export type Change = 'created' | 'changed' | 'removed';

/** Is told of each live connection that is closed for it. */
export type OnEnd = (connection: {
  /** As its client calls itself; null: it does not say. */
  device: string | null;
  /** Resolves when what it heard is stored. */
  done: Promise<void>;
}) => void;

export type EventBus = EventEmitter<Events>;

/** One per process. Listeners are synchronous and must not throw; slow ones keep a bounded queue of their own. */
export function createEvents(): EventBus {
  const events = new EventEmitter<Events>();
  events.setMaxListeners(0); // one listener per live socket
  return events;
}
