import { EventEmitter } from 'node:events';
import type {
  Conversation,
  Device,
  DeviceHappening,
  ListeningRules,
  Mark,
  Photo,
  Segment,
  Translation,
} from '../contract/model.ts';

/** Events inside the server, emitted after the transaction that made them true has committed. */
export interface Events {
  /** New or changed segments of a conversation. `isReplaced`: the second pass has replaced their text. */
  segments: [{ userId: string; conversationId: string; segments: Segment[]; isReplaced?: boolean }];
  /** A vision model has described a photo. */
  'photo.described': [{ photo: Photo }];
  /** A segment of a conversation was translated. */
  translated: [{ userId: string; conversationId: string; segmentId: string; translations: Translation[] }];
  /** A conversation ended and its processing begins. */
  'conversation.processing': [{ userId: string; conversationId: string }];
  /** Processing is over: the conversation is `completed` (or `failed`). */
  'conversation.processed': [{ userId: string; conversation: Conversation }];
  /** A conversation was removed: it ended without a single segment, or its owner deleted it. */
  'conversation.dropped': [{ userId: string; conversationId: string }];
  /** Something that belongs to a user was created, changed by hand, or removed. */
  changed: [{ userId: string; kind: 'conversation' | 'memory' | 'action_item'; id: string; change: Change }];
  /** A moment of a conversation was marked, or the mark was removed. */
  marked: [{ mark: Mark; change: 'created' | 'removed' }];
  /**
   * A live connection of a user's device opened or closed. `device` is the name that the client gives itself.
   */
  device: [{ userId: string; device: string | null; source: string; isConnected: boolean }];
  /**
   * A bridge reported a wearable of a user, or the user changed it; `device` is its present or last state.
   */
  'device.happened': [{ userId: string; device: Device; happening: DeviceHappening }];
  /** A user has paused listening or resumed it, or has changed the schedule. */
  'listening.changed': [{ userId: string; rules: ListeningRules }];
  /** The time zone of a user has changed. */
  'zone.changed': [{ userId: string }];
  /** The set of hooks that receive events about this user has changed; null: that of any user may have. */
  'hooks.changed': [{ userId: string | null }];
  /** The addresses at which a user receives notifications have changed. */
  'addresses.changed': [];
  'credential.revoked': [Revocation];
}

export type Change = 'created' | 'changed' | 'removed';

/** Credentials of a user that were revoked. */
export interface Revocation {
  userId: string;
  /** One API key; null: ID tokens; `all`: every key and ID token. */
  keyId: string | null | 'all';
  /** The session whose ID tokens are revoked; null: ID tokens without a session; absent: all ID tokens. */
  sessionId?: string | null;
  onEnd?: OnEnd | undefined;
}

/** Tells whether a revocation covers this credential of the user. */
export function isRevoked(
  opened: { keyId?: string | null | undefined; sessionId?: string | null | undefined },
  { keyId, sessionId }: Revocation,
): boolean {
  if (keyId === 'all') return true;
  if ((opened.keyId ?? null) !== keyId) return false;
  return sessionId === undefined || (opened.sessionId ?? null) === sessionId;
}

/** Called for each live connection that is closed because of it. */
export type OnEnd = (connection: {
  /** The name that the client gives itself; null: none. */
  device: string | null;
  /** Resolves once everything heard on the connection is stored. */
  done: Promise<void>;
}) => void;

export type EventBus = EventEmitter<Events>;

/** One per process. Listeners are synchronous and must not throw; slow ones keep a bounded queue of their own. */
export function createEvents(): EventBus {
  const events = new EventEmitter<Events>();
  events.setMaxListeners(0); // one listener per live socket
  return events;
}
