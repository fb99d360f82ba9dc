/** Commands for the owner's voice: part of the table in `commands.ts`. */
import { basename } from 'node:path';
import { z } from 'zod';
import type { Users } from '../domain/accounts/users.ts';
import type { SpeechProfile } from '../domain/speech/voice-samples.ts';

const user = z.string().trim().min(1).max(100);
const path = z.string().min(1).max(4096);
const Profile = z.object({
  hasProfile: z.boolean(),
  seconds: z.number(),
  samples: z.array(
    z.object({
      id: z.string(),
      seconds: z.number(),
      /** Recorded for this purpose, or learnt from a conversation. */
      isRecorded: z.boolean(),
      /** Whether it was made by the present speaker model. */
      isUsable: z.boolean(),
    }),
  ),
});

export const voiceShapes = {
  'voice.show': { args: z.object({ user }), result: Profile },
  /** Reads the files on the server's machine. */
  'voice.record': { args: z.object({ user, files: z.array(path).min(1).max(20) }), result: Profile },
  'voice.remove': { args: z.object({ user }), result: z.object({ removed: z.boolean() }) },
};
type Args<C extends keyof typeof voiceShapes> = z.output<(typeof voiceShapes)[C]['args']>;

export interface VoiceServices {
  users: Pick<Users, 'byName'>;
  speechProfiles: {
    get(userId: string): Promise<SpeechProfile>;
    record(
      userId: string,
      files: readonly { path: string; name: string }[],
      signal: AbortSignal,
    ): Promise<SpeechProfile>;
    remove(userId: string): Promise<boolean>;
  };
}

export function voiceCommands({ users, speechProfiles }: VoiceServices) {
  const idOf = async (name: string) => (await users.byName(name)).id;
  return {
    'voice.show': async ({ user }: Args<'voice.show'>) => shown(await speechProfiles.get(await idOf(user))),
    async 'voice.record'({ user, files }: Args<'voice.record'>) {
      const recordings = files.map(file => ({ path: file, name: basename(file) }));
      const { signal } = new AbortController(); // the check limits its own time
      return shown(await speechProfiles.record(await idOf(user), recordings, signal));
    },
    async 'voice.remove'({ user }: Args<'voice.remove'>) {
      return { removed: await speechProfiles.remove(await idOf(user)) };
    },
  };
}

function shown({ hasProfile, seconds, samples }: SpeechProfile): z.output<typeof Profile> {
  const listed = samples.map(({ conversationId, ...sample }) => ({
    id: sample.id,
    seconds: sample.seconds,
    isRecorded: conversationId === null,
    isUsable: sample.isUsable,
  }));
  return { hasProfile, seconds, samples: listed };
}
