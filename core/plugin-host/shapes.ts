/** Shapes of plugins and of their capabilities, as far as core relies on them. */
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { suggestion } from '../../config/nearest.ts';
import type { Capabilities, Stores, WebhookEvent } from '../contract/plugin.ts';
import { AppError } from '../runtime/errors.ts';

/**
 * Checks what `setup` returned.
 * @throws {AppError} `invalid_request` that names the wrong field
 */
export function checkCapabilities(answer: unknown): Capabilities {
  const result = CapabilitiesShape.safeParse(answer);
  if (!result.success)
    throw new AppError('invalid_request', `in what setup returns, ${problemsIn(result.error, 'the answer')}`);
  return answer as Capabilities; // checked by CapabilitiesShape
}

/**
 * Lists what is wrong with a value.
 * @param whole name of the value
 */
export function problemsIn(error: z.ZodError, whole: string): string {
  const isUnknown = error.issues.some(({ code }) => code === 'unrecognized_keys');
  return error.issues
    .filter(({ code, path }) => !(isUnknown && code === 'custom' && path.length === 0)) // already reported
    .map(issue => {
      if (issue.code === 'unrecognized_keys')
        return issue.keys.map(key => `${key} is no capability; ${suggestion(key, CAPABILITIES)}`).join('; ');
      return `${issue.path.join('.') || whole} ${issue.message}`;
    })
    .join('; ');
}

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

const callable = z.custom(value => typeof value === 'function', 'must be a function');

/** Shape of a plugin's default export. */
export const PluginShape = z.looseObject(
  {
    name: z.string('must be text').regex(NAME, 'must be small letters, digits and dashes'),
    api: z.literal(1, { error: ({ input }) => `must be 1, not ${JSON.stringify(input)}` }),
    title: z.string('must be text').trim().min(1, 'must not be empty'),
    sends: z.string('must be text').trim().min(1, 'must not be empty').optional(),
    options: callable.optional(),
    setup: callable,
    diagnose: callable.optional(),
  },
  'must be an object',
);

const STORES = {
  users: ['insert', 'get', 'byName', 'byIdentity', 'list', 'setMemoryAccess', 'update'],
  attempts: ['add', 'get', 'remove', 'prune'],
  keys: ['insert', 'get', 'byHash', 'list', 'replace', 'used', 'remove'],
  sessions: ['insert', 'get', 'list', 'update', 'remove'],
  grants: ['give', 'has', 'removeOf'],
  rateLimits: ['get', 'put', 'removeFull'],
  conversations: [
    ...(['insert', 'get', 'list', 'findOpen', 'update', 'remove', 'refile'] as const),
    ...(['positions', 'expired', 'countExpired'] as const),
  ],
  segments: [
    ...(['upsert', 'list', 'page', 'get', 'size', 'last', 'count'] as const),
    ...(['forgetPerson', 'ofSpeaker', 'translated'] as const),
  ],
  photos: [
    ...(['insert', 'get', 'list', 'some', 'count', 'bytes', 'update', 'moveAll', 'remove'] as const),
    ...(['expired', 'countExpired'] as const),
  ],
  marks: ['insert', 'get', 'list', 'count', 'moveAll', 'remove'],
  clips: ['insert', 'get', 'list', 'some', 'moveAll', 'expired', 'remove'],
  recordings: ['insert', 'get', 'list', 'waiting', 'update', 'remove', 'prune'],
  streams: ['insert', 'byClientStream', 'get', 'advance', 'update', 'moveAll'],
  claims: ['take'],
  folders: ['insertMissing', 'get', 'list', 'counts', 'update', 'remove'],
  places: ['insert', 'get', 'list', 'rename', 'remove'],
  people: ['insert', 'get', 'list', 'rename', 'remove', 'removeUnnamed'],
  foreignImports: ['insert', 'get', 'list', 'update', 'note', 'has', 'items', 'forget'],
  actionItems: ['insert', 'get', 'list', 'update', 'remove', 'moveAll'],
  memories: ['insert', 'get', 'some', 'list', 'page', 'ofTopic', 'update', 'remove', 'match'],
  forgottenMemories: ['insert', 'list', 'remove'],
  embeddings: ['note', 'changes', 'settle', 'get', 'put', 'behind'],
  goals: ['insert', 'get', 'list', 'update', 'remove', 'record', 'progress', 'forgetProgress'],
  goalSuggestions: ['insert', 'get', 'open', 'ofConversation', 'update', 'remove'],
  summaries: ['insert', 'get', 'list', 'update', 'remove', 'settings', 'putSettings'],
  calendarLinks: ['put', 'get', 'byHash', 'remove'],
  devices: ['put', 'get', 'list', 'silent', 'remove'],
  speech: ['settings', 'putSettings'],
  privacy: [
    ...(['listening', 'putListening', 'retention', 'putRetention', 'withRetention'] as const),
    ...(['addAccesses', 'accesses', 'pruneAccesses', 'trimAccesses'] as const),
  ],
  voices: [
    ...([
      'list',
      'put',
      'forgetPerson',
      'movePerson',
      'page',
      'samples',
      'putSample',
      'removeSample',
    ] as const),
    ...(['putAssignment', 'assignment', 'assignments', 'putChange', 'changes', 'pruneAssignments'] as const),
    'forget',
  ],
  passages: ['put', 'match'],
  chat: [
    'insertSession',
    'session',
    'sessions',
    'updateSession',
    'removeSession',
    'insertMessage',
    'messages',
    'forgetMessages',
  ],
  apps: ['insert', 'get', 'list', 'update', 'remove', 'insertKey', 'keyByHash', 'keys', 'removeKey'],
  installations: ['put', 'get', 'list', 'remove'],
  hooks: ['put', 'get', 'target', 'list', 'targets', 'update', 'remove'],
  deliveries: [
    'insert',
    'get',
    'list',
    'listOfApp',
    'attempts',
    'due',
    'nextAt',
    'record',
    'giveUp',
    'forget',
    'prune',
    'pruneOf',
    'countBefore',
  ],
  notifications: [
    'insert',
    'get',
    'list',
    'countUnread',
    'markRead',
    'held',
    'update',
    'settings',
    'putSettings',
    'prune',
  ],
  channelAddresses: ['insert', 'get', 'target', 'list', 'update', 'remove'],
  jobs: ['enqueue', 'cancel', 'claim', 'release', 'extend', 'done', 'retryAt', 'dead', 'nextRunAt', 'counts'],
  pluginState: ['get', 'compareAndSet', 'list', 'delete'],
} as const satisfies { [Store in keyof Stores]: readonly (keyof Stores[Store])[] };

export const STORE_NAMES = Object.keys(STORES) as (keyof Stores)[]; // keys of the literal above

function functions(names: readonly string[]) {
  return z.looseObject(Object.fromEntries(names.map(name => [name, callable])), 'must be an object');
}

const TRIGGERS = Object.keys({
  segments: true,
  audio: true,
  conversation: true,
  day: true,
  device: true,
} satisfies Record<WebhookEvent['trigger'], true>);

const SHAPES = {
  stt: z.looseObject(
    {
      sampleRate: z.literal(16000, 'must be 16000'),
      languages: z.union(
        [z.literal('any'), z.array(z.string()).min(1)],
        "must be 'any' or a list of language codes",
      ),
      model: z.string('must be text or null').nullable(),
      open: callable,
    },
    'must be an object',
  ),
  vad: z.looseObject(
    { windowSize: z.number('must be a number').int().positive(), open: callable },
    'must be an object',
  ),
  storage: functions(['transaction', 'migrate', 'upkeep', 'describe', 'tables', 'snapshot']).extend(
    Object.fromEntries(Object.entries(STORES).map(([store, verbs]) => [store, functions(verbs)])),
  ),
  identity: z.looseObject(
    {
      issuer: z.string('must be text').min(1),
      verify: callable,
      issue: callable.optional(),
      passwords: functions(['set', 'check']).extend({ isSet: callable.optional() }).optional(),
      keys: functions(['rotate', 'publicKeys']).optional(),
    },
    'must be an object',
  ),
  embedder: z.looseObject(
    {
      id: z.string('must be text').regex(/^[a-z0-9._-]{1,100}$/, 'must be 1 to 100 of a-z, 0-9, . _ -'),
      dimensions: z.number('must be a number').int().positive(),
      embed: callable,
    },
    'must be an object',
  ),
  vectors: functions(['upsert', 'search', 'remove', 'spaces', 'drop']),
  llm: functions(['object', 'text']).extend({ model: z.string('must be text').min(1) }),
  vision: functions(['object']).extend({ model: z.string('must be text').min(1) }),
  understanding: functions(['understand']).extend({
    needsModel: z.boolean('must be true or false').optional(),
  }),
  speakers: z.looseObject(
    {
      id: z.string('must be text').regex(/^[a-z0-9._-]{1,100}$/, 'must be 1 to 100 of a-z, 0-9, . _ -'),
      dimensions: z.number('must be a number').int().positive().max(4096),
      sameVoice: z.number('must be a number').min(0).max(1),
      namedVoice: z.number('must be a number').min(0).max(1),
      embed: callable,
    },
    'must be an object',
  ),
  translator: functions(['translate']).extend({
    languages: z.union(
      [z.literal('any'), z.array(z.string()).min(1)],
      "must be 'any' or a list of language codes",
    ),
    needsModel: z.boolean('must be true or false').optional(),
  }),
  notify: functions(['address', 'send']).extend({ publicInfo: callable.optional() }),
  calendar: functions(['address', 'open']),
  webhook: functions(['render']).extend({
    type: z.string('must be text').regex(/^[a-z][a-z0-9_]*$/, 'must be small letters, digits and _'),
    aliases: z.array(z.string()).optional(),
    trigger: z.enum(TRIGGERS, `must be one of ${TRIGGERS.join(', ')}`),
    answer: callable.optional(),
  }),
  page: z.looseObject(
    {
      path: z.string('must be text').regex(/^\/([a-z0-9-]{1,50}\/)?$/, 'must be / or /name/'),
      directory: z.string('must be text').refine(isAbsolute, 'must be an absolute path'),
      views: z
        .array(z.string().regex(/^[a-z][a-z-]{1,49}$/, 'must be small letters and dashes'))
        .max(100)
        .optional(),
      immutable: z
        .string()
        .regex(/^[a-z0-9-]{1,50}$/, 'must be the name of a folder')
        .optional(),
    },
    'must be an object',
  ),
} satisfies Record<keyof Capabilities, z.ZodType>;

export const CAPABILITIES = Object.keys(SHAPES) as (keyof Capabilities)[]; // keys of the literal above

const KNOWN = CAPABILITIES.join(', ');

const CapabilitiesShape = z
  .strictObject(SHAPES, 'must be an object, such as { stt: … }')
  .partial()
  .refine(
    answer => Object.values(answer).some(value => value !== undefined),
    `must have one of these keys: ${KNOWN}`,
  );
