import { stat } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Capabilities, Plugin, Stores, WebhookEvent } from '../contract/plugin.ts';
import { AppError } from '../runtime/errors.ts';

export type LoadedPlugin = Plugin<unknown>;

/** Where a plugin's module is: a file URL (built in), an absolute path, or a package found from `dir`. */
export interface PluginSource {
  name: string;
  module: string;
  dir: string;
}

/**
 * Imports a plugin's module and checks its shape, and that it goes by the name that the configuration gives it.
 * @throws {AppError} `invalid_request`, which no other attempt mends, that names the wrong field and the module
 */
export async function importPlugin(source: PluginSource): Promise<LoadedPlugin> {
  const plugin = await importUnnamed(source);
  if (plugin.name === source.name) return plugin;
  throw broken(source, `its name is "${plugin.name}", but the configuration calls it "${source.name}"`);
}

/** The same for a plugin whose name is not known yet. @throws {AppError} `invalid_request` */
export async function importUnnamed(source: Omit<PluginSource, 'name'>): Promise<LoadedPlugin> {
  const module: unknown = await importModule(source);
  const plugin: unknown = Object(module).default;
  if (plugin === undefined) throw broken(source, 'it has no default export');
  const result = PluginShape.safeParse(plugin);
  if (!result.success) throw broken(source, tell(result.error));
  return plugin as LoadedPlugin; // checked by PluginShape
}

/** The schema of a plugin's options; without one it has none. @throws {AppError} `invalid_request` */
export function optionsSchema(plugin: LoadedPlugin): z.core.$ZodType {
  if (plugin.options === undefined) return z.strictObject({});
  const schema: unknown = plugin.options(z);
  if (schema instanceof z.core.$ZodType) return schema;
  throw new AppError('invalid_request', 'options must answer a schema made with the zod that it is given');
}

/**
 * Checks what `setup` answered.
 * @throws {AppError} `invalid_request` that names the wrong field
 */
export function checkCapabilities(answer: unknown): Capabilities {
  const result = CapabilitiesShape.safeParse(answer);
  if (!result.success) throw new AppError('invalid_request', `in what setup answers, ${tell(result.error)}`);
  return answer as Capabilities; // checked by CapabilitiesShape
}

async function importModule(source: Omit<PluginSource, 'name'>): Promise<unknown> {
  try {
    if (source.module.startsWith('file:')) return await import(source.module);
    if (!isAbsolute(source.module)) return await importPackage(source);
    if (await isFile(source.module)) return await import(pathToFileURL(source.module).href);
  } catch (cause) {
    throw broken(source, remedy(cause), cause);
  }
  throw new AppError('invalid_request', `${source.module}: there is no such file`);
}

/** A package as seen from the configuration's directory, whichever way it exports itself. */
function importPackage({ module, dir }: Omit<PluginSource, 'name'>): Promise<unknown> {
  const parentURL = pathToFileURL(join(dir, 'earshot.yaml')).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      next(
        specifier,
        specifier === module && context.parentURL === import.meta.url ? { ...context, parentURL } : context,
      ),
  });
  try {
    return import(module); // resolved before import() answers
  } finally {
    hooks.deregister();
  }
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isFile() ?? false;
}

function remedy(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  if (code === 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING') {
    return 'a package must hold JavaScript: Node strips types outside of node_modules only';
  }
  return thrown instanceof SyntaxError ? `${message} (running it with node shows the line)` : message;
}

function broken(source: Pick<PluginSource, 'module'>, reason: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `${reason}, in ${source.module}`, { cause });
}

function tell(error: z.ZodError): string {
  return error.issues
    .map(issue => {
      if (issue.code === 'unrecognized_keys')
        return `${issue.keys.join(', ')} is no capability; known: ${KNOWN}`;
      return `${issue.path.join('.') || 'it'} ${issue.message}`;
    })
    .join('; ');
}

// ── shapes ──────────────────────────────────────────────────────────────────────────────────────────────────────

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

const callable = z.custom(value => typeof value === 'function', 'must be a function');

const PluginShape = z.looseObject(
  {
    name: z.string('must be text').regex(NAME, 'must be small letters, digits and dashes'),
    api: z.literal(1, { error: ({ input }) => `must be 1, not ${JSON.stringify(input)}` }),
    title: z.string('must be text').trim().min(1, 'must not be empty'),
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
  grants: ['give', 'has', 'removeOf'],
  rateLimits: ['get', 'put', 'removeFull'],
  conversations: ['insert', 'get', 'list', 'findOpen', 'update', 'remove', 'refile'],
  segments: [
    ...(['upsert', 'list', 'page', 'get', 'size', 'last', 'count'] as const),
    ...(['forgetPerson', 'ofSpeaker', 'translated'] as const),
  ],
  photos: ['insert', 'get', 'list', 'some', 'count', 'bytes', 'update', 'moveAll', 'remove'],
  recordings: ['insert', 'get', 'list', 'waiting', 'update', 'remove', 'prune'],
  streams: ['insert', 'byClientStream', 'get', 'advance', 'update', 'moveAll'],
  claims: ['take'],
  folders: ['insertMissing', 'get', 'list', 'counts', 'update', 'remove'],
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
  .strictObject(SHAPES, 'must be an object')
  .partial()
  .refine(answer => Object.values(answer).some(value => value !== undefined), `must be one of ${KNOWN}`);
