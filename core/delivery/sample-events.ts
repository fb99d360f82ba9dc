import type { ActionItem, Conversation, Device, Hook, Segment } from '../contract/model.ts';
import type { WebhookEvent } from '../contract/plugin.ts';
import { conversationJson, segmentJson } from '../domain/conversations/conversation-json.ts';
import { happeningJson } from '../domain/devices/device-json.ts';
import { newId } from '../domain/ids.ts';
import { dayEvent } from './day-event.ts';

const TITLE = 'A test from Earshot';
const TEXT = 'This is a test: this webhook reaches you here.';
const SPEAKER = 'Earshot';
const SECONDS = 3;
const SAMPLE_RATE = 16_000;

/** Makes up an event of this kind about the user, in the form of a real one. @param now epoch ms */
export function sampleEvent(
  trigger: WebhookEvent['trigger'],
  { userId, seconds }: Pick<Hook, 'userId' | 'seconds'>,
  now: number,
): WebhookEvent {
  const conversation = conversationOf(userId, now);
  const segment = segmentOf(conversation);
  const wire = [segmentJson(segment, SPEAKER)];
  switch (trigger) {
    case 'segments':
      return { trigger, userId, conversationId: conversation.id, segments: [segment], wire };
    case 'audio': // silence
      return {
        trigger,
        userId,
        sampleRate: SAMPLE_RATE,
        pcm: new Int16Array((seconds ?? 1) * SAMPLE_RATE),
      };
    case 'conversation': {
      const shown = { ...conversationJson(conversation, null), transcript_segments: wire };
      return { trigger, userId, conversation, wire: shown };
    }
    case 'day':
      return dayEvent(userId, {
        day: new Date(now).toISOString().slice(0, 10),
        timeZone: 'UTC',
        summary: TEXT,
        now,
        conversations: [conversation],
        shown: [conversationJson(conversation, null)],
        actionItems: [taskOf(conversation)],
      });
    case 'device': {
      const device = deviceOf(userId, now);
      const wire = happeningJson(device, { kind: 'connected', at: now, button: null });
      return { trigger, userId, deviceId: device.id, kind: 'connected', wire };
    }
  }
}

function conversationOf(userId: string, now: number): Conversation {
  return {
    id: newId(now),
    userId,
    status: 'completed',
    createdAt: now,
    lastActivityAt: now,
    startedAt: now - SECONDS * 1000,
    finishedAt: now,
    timeoutMs: 120_000,
    structured: {
      title: TITLE,
      overview: TEXT,
      category: 'other',
      emoji: '🧪',
      actionItems: [],
      events: [],
    },
    language: 'en',
    source: 'test',
    deviceId: null,
    folderId: null,
    geolocation: null,
    discarded: false,
    starred: false,
    locked: false,
  };
}

function taskOf({ id: conversationId, userId, createdAt }: Conversation): ActionItem {
  return {
    id: newId(createdAt),
    userId,
    description: TITLE,
    completed: false,
    createdAt,
    updatedAt: createdAt,
    dueAt: createdAt,
    completedAt: null,
    conversationId,
    segmentId: null,
    locked: false,
  };
}

function deviceOf(userId: string, now: number): Device {
  return {
    userId,
    id: 'test',
    name: null,
    advertisedName: TITLE,
    source: 'test',
    driver: '',
    notes: [],
    model: null,
    firmware: null,
    state: 'streaming',
    reason: null,
    codec: 'opus',
    rssi: -60,
    battery: 80,
    lowBattery: false,
    storageFreeBytes: null,
    frames: 0,
    lost: 0,
    buttonAt: null,
    bridgeId: 'test',
    bridgeName: SPEAKER,
    bridgeVersion: null,
    connectedAt: now,
    lastSeenAt: now,
    reportedAt: now,
    createdAt: now,
  };
}

function segmentOf({ id: conversationId, userId, createdAt }: Conversation): Segment {
  return {
    id: newId(createdAt),
    userId,
    conversationId,
    text: TEXT,
    start: 0,
    end: SECONDS,
    speaker: 'SPEAKER_00',
    speakerId: 0,
    isUser: false,
    personId: null,
    sttProvider: null,
    language: null,
    translations: null,
    profileCompared: false,
  };
}
