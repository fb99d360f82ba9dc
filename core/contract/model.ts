/**
 * Types of the domain. Instants are UTC epoch milliseconds (`…At`), lengths of audio are samples at
 * 16 kHz mono unless a name says otherwise, positions in a conversation are seconds. Ids are lower-case UUIDs.
 */

export type * from './model/accounts.ts';
export type * from './model/apps.ts';
export type * from './model/chat.ts';
export type * from './model/conversations.ts';
export type * from './model/deliveries.ts';
export type * from './model/devices.ts';
export type * from './model/imports.ts';
export type * from './model/listening.ts';
export type * from './model/memories.ts';
export type * from './model/notifications.ts';
export type * from './model/privacy.ts';
export type * from './model/recordings.ts';
export type * from './model/runtime.ts';
export type * from './model/tasks-and-goals.ts';
export type * from './model/voices.ts';
