import { z } from 'zod';
import type { Hook } from '../../contract/model.ts';
import type { TestHook } from '../../delivery/hook-test.ts';
import { type Hooks, secretHint } from '../../domain/apps/hooks.ts';
import { AppError } from '../../runtime/errors.ts';
import { optional, someOf } from '../fields.ts';
import { type Route, route } from '../route.ts';
import { SecretJson, secretJson } from './apps.ts';

const OWN = '/v1/users/developer/webhook/{hook_type}';
const ALL = '/v1/users/developer/webhooks';
/** An address, with the seconds of audio per request appended. */
const MAX_URL_CHARS = 2010;
const MAX_TYPE_CHARS = 100;
const MAX_LABEL_CHARS = 100;

const dateTime = z.iso.datetime();

const HookJson = z
  .object({
    id: z.string(),
    type: z.string(),
    label: z
      .string()
      .describe("Label that distinguishes your own webhooks of one type; '' is the default one"),
    url: z.string(),
    seconds: z.int().nullable().describe('Seconds of audio per delivery; null for other types'),
    app_id: z.string().nullable().describe('Id of your app that owns it; null: it is your own'),
    enabled: z.boolean(),
    off_reason: z.string().nullable().describe('Reason for which the server disabled it'),
    failing_since: dateTime.nullable().describe('Time since which every delivery has failed'),
    signing_secret_hint: z.string().describe('Abbreviated secret that signs it'),
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'Hook' });

const Address = z.object({ url: z.string().max(MAX_URL_CHARS) });
const AddressBody = Address.meta({
  id: 'HookAddress',
  description: 'For `audio_bytes`, followed by a comma and the seconds per delivery: 1 to 60, default 5',
  override: { examples: [{ url: 'https://hooks.example.org/earshot' }] },
});

const type = z
  .string()
  .max(MAX_TYPE_CHARS)
  .describe('`transcript_processed`, `audio_bytes`, `memory_created`, …')
  .meta({ examples: ['memory_created'] });
const url = z
  .string()
  .min(1)
  .max(MAX_URL_CHARS)
  .describe('For `audio_bytes`, followed by a comma and the seconds per delivery');

const HOOK_EXAMPLE = { type: 'memory_created', url: 'https://hooks.example.org/earshot', label: 'notes' };

const NewHookBody = z
  .object({ type, url, label: optional(z.string().trim().max(MAX_LABEL_CHARS), '') })
  .meta({ id: 'HookCreate', override: { examples: [HOOK_EXAMPLE] } });

const HookEdit = someOf({ type: type.exactOptional(), url: url.exactOptional() }).meta({
  id: 'HookEdit',
  override: { examples: [{ url: 'https://hooks.example.org/other' }] },
});

const NewHookJson = z
  .object({
    ...HookJson.shape,
    signing_secret: z
      .string()
      .nullable()
      .describe('Signs all your own webhooks; shown only once, with the first one'),
  })
  .meta({ id: 'NewHook' });

const TestedJson = z
  .object({
    status: z.int().nullable().describe('Null: there was no answer'),
    error: z.string().nullable().describe('Null: it was accepted'),
    answer: z.string().nullable().describe('Beginning of the answer'),
    took_ms: z.int(),
  })
  .meta({ id: 'HookTest' });

const SigningJson = z
  .object({
    hint: z.string().nullable().describe('Abbreviated secret; null: there is no webhook yet'),
    old_until: dateTime.nullable().describe('Time until which the previous secret also signs'),
  })
  .meta({ id: 'SigningSecretHint' });

const Done = z.object({ status: z.literal('ok') });

/** Webhooks of a user's own programs, and their state. */
export function hookRoutes(hooks: Hooks, testHook: TestHook): Route[] {
  const common = {
    tag: 'Webhooks',
    credential: 'idToken',
    params: z.object({}),
    query: z.object({}),
  } as const;
  const typed = z.object({
    hook_type: z
      .string()
      .describe('`transcript_processed` (or `realtime_transcript`), `audio_bytes`, `memory_created`, …')
      .meta({ examples: ['memory_created'] }),
  });
  const one = z.object({ hook_id: z.string() });
  const done = { status: 'ok' as const };

  return [
    route({
      ...common,
      method: 'get',
      id: 'listHooks',
      path: '/v1/hooks',
      summary: 'List your own webhooks and those of your apps, with their state',
      response: z.array(HookJson),
      handle: async ({ principal: { user } }) => (await hooks.list(user.id)).map(toJson),
    }),
    route({
      ...common,
      method: 'post',
      id: 'createHook',
      path: '/v1/hooks',
      summary: 'Create a webhook of your own; a label allows several of one type',
      errors: ['not_found', 'conflict'],
      body: NewHookBody,
      response: NewHookJson,
      async handle({ principal: { user }, body: { type, url, label } }) {
        const { hook, newSecret } = await hooks.set(user.id, type, url, { label, isNew: true });
        if (!hook) throw new AppError('invalid_request', 'A webhook needs an address');
        return { ...toJson(hook), signing_secret: newSecret };
      },
    }),
    route({
      ...common,
      method: 'patch',
      id: 'updateHook',
      path: '/v1/hooks/{hook_id}',
      summary: 'Change the type or the address of one of your own webhooks',
      errors: ['not_found', 'conflict'],
      params: one,
      body: HookEdit,
      response: HookJson,
      handle: async ({ principal: { user }, params, body }) =>
        toJson(await hooks.change(user.id, params.hook_id, body)),
    }),
    route({
      ...common,
      method: 'delete',
      id: 'deleteHook',
      path: '/v1/hooks/{hook_id}',
      summary: 'Delete one of your own webhooks; what waits for it is given up',
      errors: ['not_found', 'conflict'],
      params: one,
      handle: ({ principal: { user }, params }) => hooks.remove(user.id, params.hook_id),
    }),
    route({
      ...common,
      method: 'post',
      id: 'testHook',
      path: '/v1/hooks/{hook_id}/test',
      summary: 'Send a webhook a sample event, signed, once, also while it is switched off',
      errors: ['not_found'],
      params: one,
      response: TestedJson,
      async handle({ principal: { user }, params }) {
        const { tookMs, ...tested } = await testHook(await hooks.get(user.id, params.hook_id));
        return { ...tested, took_ms: Math.round(tookMs) };
      },
    }),
    ...(['enable', 'disable'] as const).map(verb =>
      route({
        ...common,
        method: 'post',
        id: `${verb}Hook`,
        path: `/v1/hooks/{hook_id}/${verb}`,
        summary:
          verb === 'enable'
            ? 'Send a webhook again, also one that the server has switched off'
            : 'Send a webhook no more; what waits for it is given up',
        errors: ['not_found'],
        params: one,
        response: HookJson,
        handle: async ({ principal: { user }, params }) =>
          toJson(await hooks.enable(user.id, params.hook_id, verb === 'enable')),
      }),
    ),
    route({
      ...common,
      method: 'get',
      id: 'getDeveloperWebhookStatus',
      path: `${ALL}/status`,
      summary: 'Get a boolean for each type of webhook, under every name: whether yours is enabled',
      response: z.record(z.string(), z.boolean()),
      handle: ({ principal: { user } }) => hooks.status(user.id),
    }),
    route({
      ...common,
      method: 'get',
      id: 'getDeveloperWebhookSecret',
      path: `${ALL}/secret`,
      summary: 'Get the abbreviated secret that signs your own webhooks',
      response: SigningJson,
      async handle({ principal: { user } }) {
        const signing = await hooks.signing(user.id);
        return {
          hint: signing && secretHint(signing.secret),
          old_until: toIsoOrNull(signing?.oldSecretUntil ?? null),
        };
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'rotateDeveloperWebhookSecret',
      path: `${ALL}/secret/rotate`,
      summary:
        'Rotate the secret that signs your own webhooks, and return the new one; both secrets sign for 24 hours',
      errors: ['conflict'],
      response: SecretJson,
      handle: async ({ principal: { user } }) => secretJson(await hooks.rotate(user.id)),
    }),
    route({
      ...common,
      method: 'get',
      id: 'getDeveloperWebhook',
      path: OWN,
      summary: "Get the address of one of your own webhooks; '': none",
      errors: ['not_found'],
      params: typed,
      response: Address,
      handle: async ({ principal: { user }, params }) => ({
        url: await hooks.address(user.id, params.hook_type),
      }),
    }),
    route({
      ...common,
      method: 'post',
      id: 'setDeveloperWebhook',
      path: OWN,
      summary: "Set the address of one of your own webhooks, and enable it; '' or ',' disables it",
      errors: ['not_found'],
      params: typed,
      body: AddressBody,
      response: Done,
      async handle({ principal: { user }, params, body }) {
        await hooks.set(user.id, params.hook_type, body.url);
        return done;
      },
    }),
    ...(['enable', 'disable'] as const).map(verb =>
      route({
        ...common,
        method: 'post',
        id: `${verb}DeveloperWebhook`,
        path: `${OWN}/${verb}`,
        summary: `Switch one of your own webhooks ${verb === 'enable' ? 'on' : 'off'}; it keeps its address`,
        errors: verb === 'enable' ? ['not_found', 'conflict'] : ['not_found'],
        params: typed,
        response: Done,
        async handle({ principal: { user }, params }) {
          await hooks.enableOwn(user.id, params.hook_type, verb === 'enable');
          return done;
        },
      }),
    ),
  ];
}

function toJson(hook: Hook): z.input<typeof HookJson> {
  return {
    id: hook.id,
    type: hook.type,
    label: hook.label,
    url: hook.url,
    seconds: hook.seconds,
    app_id: hook.appId,
    enabled: hook.enabled,
    off_reason: hook.offReason,
    failing_since: toIsoOrNull(hook.failingSince),
    signing_secret_hint: secretHint(hook.secret),
    created_at: new Date(hook.createdAt).toISOString(),
    updated_at: new Date(hook.updatedAt).toISOString(),
  };
}

function toIsoOrNull(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
