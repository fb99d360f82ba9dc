/** Commands for recordings: part of the table in `commands.ts`. */
import { z } from 'zod';
import type { Recording } from '../contract/model.ts';
import type { Users } from '../domain/accounts/users.ts';
import type { Recordings } from '../domain/recordings/recordings.ts';

const user = z.string().trim().min(1).max(100);
const Shown = z.object({
  id: z.string(),
  name: z.string(),
  state: z.enum(['waiting', 'running', 'done', 'failed']),
  error: z.string().nullable(),
  heardMs: z.number(),
  /** Null: not measured yet. */
  durationMs: z.number().nullable(),
  conversations: z.number(),
});

export const recordingShapes = {
  /** Reads the file where the server runs. Instants are epoch ms. */
  'recording.add': {
    args: z.object({
      user,
      path: z.string().min(1).max(4096),
      name: z.string().max(1000),
      startedAt: z.number().nullable(),
      endedAt: z.number().nullable(),
      language: z.string().max(100).optional(),
      source: z.string().max(100).optional(),
      silenceMs: z.number().optional(),
    }),
    result: Shown,
  },
  'recording.show': { args: z.object({ user, id: z.string().max(100) }), result: Shown },
};
type Args<C extends keyof typeof recordingShapes> = z.output<(typeof recordingShapes)[C]['args']>;

export interface RecordingServices {
  users: Pick<Users, 'byName'>;
  recordings: Pick<Recordings, 'add' | 'get'>;
}

export function recordingCommands({ users, recordings }: RecordingServices) {
  const idOf = async (name: string) => (await users.byName(name)).id;
  return {
    'recording.add': async ({ user, ...given }: Args<'recording.add'>) =>
      shown(await recordings.add(await idOf(user), given)),
    'recording.show': async ({ user, id }: Args<'recording.show'>) =>
      shown(await recordings.get(await idOf(user), id)),
  };
}

function shown({ conversationIds, ...recording }: Recording): z.output<typeof Shown> {
  const { id, name, state, error, heardMs, durationMs } = recording;
  return { id, name, state, error, heardMs, durationMs, conversations: conversationIds.length };
}
