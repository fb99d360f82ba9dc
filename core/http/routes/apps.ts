import { z } from 'zod';
import type { App, AppKey } from '../../contract/model.ts';
import {
  ACTIONS,
  type AppEdit,
  type Apps,
  CAPABILITIES,
  MAX_APP_NAME_CHARS,
  USER_SCOPES,
} from '../../domain/apps/apps.ts';
import type { Installed } from '../../domain/apps/installations.ts';
import { toIso } from '../../runtime/iso.ts';
import { name as nameField, optional, someOf, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/apps';
const ONE = '/v1/apps/{app_id}';
const MAX_DESCRIPTION_CHARS = 2000;
const MAX_URL_CHARS = 2000;
const MAX_TYPES = 20;
const MAX_TYPE_CHARS = 100;

const dateTime = z.iso.datetime();
const capabilities = z.array(z.enum(CAPABILITIES)).max(CAPABILITIES.length);
const scopes = z.array(z.enum(USER_SCOPES)).max(USER_SCOPES.length);
const actions = z.array(z.enum(ACTIONS)).max(ACTIONS.length);

const ABOUT = {
  id: z.string(),
  name: z.string(),
  description: z.string(),
  owned: z.boolean().describe('Whether you own it'),
  enabled: z.boolean().describe('Whether you installed it'),
  capabilities: z.array(z.enum(CAPABILITIES)),
  external_integration: z
    .object({
      triggers_on: z.array(z.string()).describe('Types of webhooks'),
      webhook_url: z.string().nullable().describe('Address of its webhooks; null for apps of others, too'),
      setup_completed_url: z
        .string()
        .nullable()
        .describe(
          'Address that is asked with `?uid=` whether a user has set the app up; null for apps of others, too',
        ),
      actions: z.array(z.object({ action: z.enum(ACTIONS) })),
    })
    .nullable(),
  proactive_notification: z.object({ scopes }).nullable(),
  created_at: dateTime,
  updated_at: dateTime,
};
const AppJson = z.object(ABOUT).meta({ id: 'App' });

const NewAppJson = z
  .object({
    ...ABOUT,
    signing_secret: z
      .string()
      .nullable()
      .describe(
        'Secret that signs its webhooks (Standard Webhooks): shown once, when its first webhook is set up; otherwise null',
      ),
  })
  .meta({ id: 'NewApp' });

const GRANTED = {
  granted_scopes: scopes.describe('Data about you that it may use'),
  granted_actions: actions.describe('Actions that you allow it'),
};
const InstalledJson = z.object({ ...ABOUT, ...GRANTED, installed_at: dateTime }).meta({ id: 'InstalledApp' });

const KEY = {
  id: z.string(),
  label: z.string().describe('Abbreviated secret: `sk_1a2b...9z0y`'),
  created_at: dateTime,
};
const KeyJson = z.object(KEY).meta({ id: 'AppKey' });
const NewKeyJson = z
  .object({ ...KEY, secret: z.string().describe('The secret, which is shown only once') })
  .meta({ id: 'NewAppKey' });

export const SecretJson = z
  .object({
    signing_secret: z.string().describe('Shown only once'),
    old_until: dateTime.describe('Time until which the previous secret also signs'),
  })
  .meta({ id: 'SigningSecret' });

/** Some clients send an empty text for none. */
const url = z
  .string()
  .trim()
  .max(MAX_URL_CHARS)
  .nullable()
  .transform(given => given || null)
  .describe('https, or a host that the operator allows; null: none');

const triggers = z
  .union([text({ max: MAX_TYPE_CHARS }), z.array(text({ max: MAX_TYPE_CHARS })).max(MAX_TYPES)])
  .transform(given => [given].flat())
  .describe('One type of webhooks or several: `transcript_processed`, `memory_created`, …');

const action = z.enum(ACTIONS);
const actionsBody = z
  .array(z.union([action, z.object({ action }).transform(given => given.action)]))
  .max(ACTIONS.length)
  .transform(given => [...new Set(given)])
  .describe('Actions that it requests: names, or objects with `action`');

const SETTINGS = {
  capabilities: capabilities.exactOptional(),
  external_integration: z
    .object({
      triggers_on: triggers.exactOptional(),
      webhook_url: url.exactOptional(),
      setup_completed_url: url.exactOptional(),
      actions: actionsBody.exactOptional(),
    })
    .exactOptional()
    .describe('Absent fields keep their value'),
  proactive_notification: z
    .object({ scopes: scopes.transform(given => [...new Set(given)]) })
    .exactOptional(),
};

const name = nameField({ max: MAX_APP_NAME_CHARS });
const description = text({ max: MAX_DESCRIPTION_CHARS, mayBeEmpty: true });

const EXAMPLE = {
  name: 'Tea counter',
  external_integration: {
    triggers_on: ['memory_created'],
    webhook_url: 'https://tea.example.org/hook',
    actions: ['read_conversations', 'read_memories', 'read_tasks', 'create_conversation', 'create_facts'],
  },
  proactive_notification: { scopes: ['user_name', 'user_facts'] },
};

const AppBody = z
  .object({ ...SETTINGS, name, description: optional(description, '') })
  .meta({ id: 'AppCreate', override: { examples: [EXAMPLE] } });

const EditBody = someOf({
  ...SETTINGS,
  name: name.exactOptional(),
  description: description.exactOptional(),
}).meta({ id: 'AppEdit', override: { examples: [{ name: 'Coffee counter' }] } });

const InstallBody = z
  .object({
    scopes: optional(scopes, undefined).describe(
      'Restricts the grant to these; absent: all that it requests',
    ),
    actions: optional(actions, undefined).describe('Likewise'),
  })
  .optional()
  .meta({ id: 'AppInstall', override: { examples: [{ scopes: ['user_name'] }] } });

const Done = z.object({ status: z.literal('ok') });
const Deleted = z.object({ success: z.literal(true) });

/** Apps: programs that any user can create and any user can install. */
export function appRoutes(apps: Apps): Route[] {
  const common = { tag: 'Apps', credential: 'idToken', params: z.object({}), query: z.object({}) } as const;
  const one = z.object({ app_id: z.string() });
  const named = z.object({ app_id: text() });

  async function shown(userId: string, app: App): Promise<z.input<typeof AppJson>> {
    return toJson(userId, app, (await apps.installedIds(userId)).has(app.id));
  }

  return [
    route({
      ...common,
      method: 'get',
      id: 'listApps',
      path: LIST,
      summary: 'List the apps of all accounts, newest first: any of them can be installed',
      response: z.array(AppJson),
      async handle({ principal: { user } }) {
        const [all, installed] = await Promise.all([apps.list(), apps.installedIds(user.id)]);
        return all.map(app => toJson(user.id, app, installed.has(app.id)));
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'createApp',
      path: LIST,
      summary: 'Create an app; its webhooks receive events of the users who install it',
      errors: ['conflict'],
      body: AppBody,
      response: NewAppJson,
      async handle({ principal: { user }, body }) {
        const { app, signingSecret } = await apps.create(user.id, { ...editOf(body), name: body.name });
        return { ...toJson(user.id, app, false), signing_secret: signingSecret };
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'listInstalledApps',
      path: `${LIST}/enabled`,
      summary: 'List the apps that you installed, newest first, with your grants',
      response: z.array(InstalledJson),
      handle: async ({ principal: { user } }) =>
        (await apps.installed(user.id)).map(installed => ({
          ...toJson(user.id, installed.app, true),
          ...grantedJson(installed),
          installed_at: toIso(installed.installedAt),
        })),
    }),
    route({
      ...common,
      method: 'post',
      id: 'installApp',
      path: `${LIST}/enable`,
      summary: 'Install an app: it receives your events, and gets the permissions that you grant',
      errors: ['not_found', 'conflict'],
      query: named,
      body: InstallBody,
      response: z.object({ status: z.literal('ok'), ...GRANTED }),
      async handle({ principal: { user }, query, body = {} }) {
        const { scopes, actions } = body;
        const installed = await apps.install(user.id, query.app_id, {
          ...(scopes && { scopes }),
          ...(actions && { actions }),
        });
        return { status: 'ok' as const, ...grantedJson(installed) };
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'uninstallApp',
      path: `${LIST}/disable`,
      summary: 'Uninstall an app: it receives no more events and loses its permissions',
      errors: ['not_found'],
      query: named,
      response: Done,
      async handle({ principal: { user }, query }) {
        await apps.uninstall(user.id, query.app_id);
        return { status: 'ok' as const };
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'getApp',
      path: ONE,
      summary: 'Get an app; only its owner sees its addresses',
      errors: ['not_found'],
      params: one,
      response: AppJson,
      handle: async ({ principal: { user }, params }) => shown(user.id, await apps.get(params.app_id)),
    }),
    route({
      ...common,
      method: 'patch',
      id: 'updateApp',
      path: ONE,
      summary: 'Change an app. Users have to grant additional permissions anew',
      errors: ['not_found'],
      params: one,
      body: EditBody,
      response: NewAppJson,
      async handle({ principal: { user }, params, body }) {
        const { app, signingSecret } = await apps.edit(user.id, params.app_id, editOf(body));
        return { ...(await shown(user.id, app)), signing_secret: signingSecret };
      },
    }),
    route({
      ...common,
      method: 'delete',
      id: 'deleteApp',
      path: ONE,
      summary: 'Delete an app with its secrets and installations',
      errors: ['not_found'],
      params: one,
      response: Deleted,
      async handle({ principal: { user }, params }) {
        await apps.remove(user.id, params.app_id);
        return { success: true as const };
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'rotateAppSigningSecret',
      path: `${ONE}/signing-secret/rotate`,
      summary: "Rotate the signing secret of an app's webhooks; both secrets sign for 24 hours",
      errors: ['not_found', 'conflict'],
      params: one,
      response: SecretJson,
      handle: async ({ principal: { user }, params }) =>
        secretJson(await apps.rotate(user.id, params.app_id)),
    }),
    route({
      ...common,
      method: 'get',
      id: 'listAppKeys',
      path: `${ONE}/keys`,
      summary: 'List the secrets of an app, newest first',
      errors: ['not_found'],
      params: one,
      response: z.array(KeyJson),
      handle: async ({ principal: { user }, params }) =>
        (await apps.keys(user.id, params.app_id)).map(keyJson),
    }),
    route({
      ...common,
      method: 'post',
      id: 'createAppKey',
      path: `${ONE}/keys`,
      summary: 'Create a secret, with which the app acts for the users who installed it',
      errors: ['not_found', 'conflict'],
      params: one,
      response: NewKeyJson,
      async handle({ principal: { user }, params }) {
        const { record, secret } = await apps.createKey(user.id, params.app_id);
        return { ...keyJson(record), secret };
      },
    }),
    route({
      ...common,
      method: 'delete',
      id: 'deleteAppKey',
      path: `${ONE}/keys/{app_key_id}`,
      summary: 'Delete a secret, which is refused at once',
      errors: ['not_found'],
      params: z.object({ app_id: z.string(), app_key_id: z.string() }),
      response: Deleted,
      async handle({ principal: { user }, params }) {
        await apps.removeKey(user.id, params.app_id, params.app_key_id);
        return { success: true as const };
      },
    }),
  ];
}

/** Picks the app's fields that a body contains. */
function editOf(body: Partial<z.output<typeof EditBody>>): AppEdit {
  const { external_integration: integration, proactive_notification: proactive } = body;
  const edit = {
    name: body.name,
    description: body.description,
    capabilities: body.capabilities,
    triggersOn: integration?.triggers_on,
    webhookUrl: integration?.webhook_url,
    setupCompletedUrl: integration?.setup_completed_url,
    actions: integration?.actions,
    notificationScopes: proactive?.scopes,
  };
  const said = Object.entries(edit).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said) as AppEdit; // what is left of it
}

function toJson(userId: string, app: App, enabled: boolean): z.input<typeof AppJson> {
  const owned = app.userId === userId;
  const has = (capability: (typeof CAPABILITIES)[number]) => app.capabilities.includes(capability);
  return {
    id: app.id,
    name: app.name,
    description: app.description,
    owned,
    enabled,
    capabilities: app.capabilities,
    external_integration: has('external_integration')
      ? {
          triggers_on: app.triggersOn,
          webhook_url: owned ? app.webhookUrl : null, // its query may hold a secret
          setup_completed_url: owned ? app.setupCompletedUrl : null,
          actions: app.actions.map(action => ({ action })),
        }
      : null,
    proactive_notification: has('proactive_notification') ? { scopes: app.notificationScopes } : null,
    created_at: toIso(app.createdAt),
    updated_at: toIso(app.updatedAt),
  };
}

function grantedJson({ scopes, actions }: Pick<Installed, 'scopes' | 'actions'>) {
  return { granted_scopes: scopes, granted_actions: actions };
}

function keyJson({ id, hint, createdAt }: AppKey): z.input<typeof KeyJson> {
  return { id, label: hint, created_at: toIso(createdAt) };
}

export function secretJson({ secret, oldUntil }: { secret: string; oldUntil: number }) {
  return { signing_secret: secret, old_until: toIso(oldUntil) };
}
