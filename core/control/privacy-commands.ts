/** Commands for pauses and retention: part of the table in `commands.ts`. */
import { z } from 'zod';
import type { Users } from '../domain/accounts/users.ts';
import type { Listening, ShownListening } from '../domain/privacy/listening.ts';
import type { Retention } from '../domain/privacy/retention.ts';

const user = z.string().trim().min(1).max(100);
const Shown = z.object({
  paused: z.boolean(),
  cause: z.enum(['asked', 'schedule']).nullable(),
  /** In the time zone of the account; null: unknown. */
  until: z.string().nullable(),
  /** Weekly pauses, such as `mon,tue 22:00-07:00`. */
  schedule: z.array(z.string()),
  timeZone: z.string(),
});

const rules = z.array(z.string().max(300)).max(100);
const Rules = z.object({
  keepStarred: z.boolean(),
  /** As people write them, such as `conversations/Work=30`. */
  rules: z.array(z.string()),
});

export const privacyShapes = {
  'listening.show': { args: z.object({ user }), result: Shown },
  'listening.pause': {
    args: z.object({ user, minutes: z.int().min(1).nullable() }),
    result: Shown,
  },
  'listening.resume': { args: z.object({ user }), result: Shown },
  'listening.schedule': {
    args: z.object({ user, schedule: z.array(z.string().max(200)).max(100) }),
    result: Shown,
  },
  'retention.show': { args: z.object({ user }), result: Rules },
  'retention.set': { args: z.object({ user, rules, keepStarred: z.boolean() }), result: Rules },
  /** Without rules: those that are stored. */
  'retention.preview': {
    args: z.object({ user, rules: rules.nullable(), keepStarred: z.boolean() }),
    result: z.object({
      conversations: z.int(),
      photos: z.int(),
      audioFiles: z.int(),
      deliveries: z.int(),
      oldest: z.array(z.object({ id: z.string(), title: z.string() })),
    }),
  },
};
type Args<C extends keyof typeof privacyShapes> = z.output<(typeof privacyShapes)[C]['args']>;

export interface PrivacyServices {
  users: Pick<Users, 'byName'>;
  listening: Pick<Listening, 'get' | 'pause' | 'resume' | 'scheduleWords'>;
  retention: Pick<Retention, 'get' | 'put' | 'preview' | 'rulesOf' | 'wordsOf'>;
}

export function privacyCommands({ users, listening, retention }: PrivacyServices) {
  const idOf = async (name: string) => (await users.byName(name)).id;
  const told = async (id: string, { keepStarred, rules }: Awaited<ReturnType<Retention['get']>>) => ({
    keepStarred,
    rules: await retention.wordsOf(id, rules),
  });
  return {
    'listening.show': async ({ user }: Args<'listening.show'>) =>
      shown(await listening.get(await idOf(user))),
    'listening.pause': async ({ user, minutes }: Args<'listening.pause'>) =>
      shown(await listening.pause(await idOf(user), minutes)),
    'listening.resume': async ({ user }: Args<'listening.resume'>) =>
      shown(await listening.resume(await idOf(user))),
    'listening.schedule': async ({ user, schedule }: Args<'listening.schedule'>) =>
      shown(await listening.scheduleWords(await idOf(user), schedule)),
    async 'retention.show'({ user }: Args<'retention.show'>) {
      const id = await idOf(user);
      return told(id, await retention.get(id));
    },
    async 'retention.set'({ user, rules, keepStarred }: Args<'retention.set'>) {
      const id = await idOf(user);
      return told(id, await retention.put(id, { keepStarred, rules: await retention.rulesOf(id, rules) }));
    },
    async 'retention.preview'({ user, rules, keepStarred }: Args<'retention.preview'>) {
      const id = await idOf(user);
      const choice = rules && { keepStarred, rules: await retention.rulesOf(id, rules) };
      const { oldest, ...counts } = await retention.preview(id, choice ?? (await retention.get(id)));
      return { ...counts, oldest: oldest.map(({ id, structured }) => ({ id, title: structured.title })) };
    },
  };
}

function shown({ state: { isPaused, cause }, rules, words }: ShownListening) {
  return {
    paused: isPaused,
    cause: isPaused ? cause : null,
    until: words.until,
    schedule: words.spans,
    timeZone: rules.timeZone,
  };
}
