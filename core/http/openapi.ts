/** Builds the OpenAPI document from the routes that serve the interface and the schemas that validate requests. */
import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverride,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi';
import { ERRORS, type ErrorCode } from '../runtime/errors.ts';
import { version } from '../runtime/version.ts';
import type { Access } from './auth.ts';
import { fixed } from './fixed.ts';
import { MAX_REPEAT_KEY_CHARS, REPEAT_HEADER } from './repeats.ts';
import type { OpenOperation, OpenRoute, Route } from './route.ts';
import { FORM_TYPE, RAW_TYPE } from './uploads.ts';

const JSON_TYPE = 'application/json';

/**
 * Version of the interface that clients are written for. It is independent of the package's version, which changes more
 * often.
 */
const INTERFACE_VERSION = '1.0.0';

const ABOUT = `What Earshot keeps for an account. Every request needs a credential of it, \`Authorization: Bearer …\`.
Where Earshot runs, get

- an API key, which may do what its scopes say: \`earshot key owner --scopes conversations:read,conversations:write\`
- or an ID token, which may do everything for 30 days: \`earshot token owner\`, or from anywhere \`POST /v1/auth/token\`,
  once the account has a password: \`earshot user password owner\`

How many requests of each kind may come in a minute is up to the server (\`rateLimits\` in its configuration); every answer
tells how many are left.`;

const SECURITY_SCHEMES = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, `omi_dev_…`, with the scope of the operation: `earshot key USER --scopes LIST`',
  },
  metricsToken: {
    type: 'http',
    scheme: 'bearer',
    description: '`metrics.token` of the configuration, where it has one',
  },
  appSecret: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A secret of an app, `sk_…`, for a user who installed it: `POST /v1/apps/{app_id}/keys`, or `earshot app keys APP --new`',
  },
  idToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'An ID token, which has all permissions of its owner: `earshot token USER`',
  },
} as const;

const Issue = z.object({
  loc: z
    .array(z.union([z.string(), z.int()]))
    .describe('Location: body, query or path, and the path within it'),
  msg: z.string(),
  type: z.string().describe('Type of the problem, for programs'),
});
const Invalid = z.object({ detail: z.array(Issue) }).meta({ id: 'Invalid' });
/** Reasons why a request had no result, in words. */
export const Failed = z.object({ detail: z.string() }).meta({ id: 'Failed' });
const Reason = z.looseObject({
  code: z.string().describe('Type of the problem, for programs'),
  message: z.string(),
});
const Forbidden = z.object({ detail: z.union([z.string(), Reason]) }).meta({ id: 'Forbidden' });
const Changed = Reason.extend({
  current: z.looseObject({}).describe('Present values'),
  yours: z.looseObject({}).describe('Refused values'),
});
const Conflict = z.object({ detail: z.union([z.string(), Changed]) }).meta({ id: 'Conflict' });
const RETRY_AFTER = z.int().describe('Seconds');
/** Headers of every response of a rate-limited operation. */
const RATE_HEADERS = {
  'X-RateLimit-Limit': z.int().optional().describe('Requests of this kind per minute'),
  'X-RateLimit-Remaining': z.int().optional().describe('Remaining requests'),
  'X-RateLimit-Reset': z.int().optional().describe('Seconds until the limit is fully available again'),
};

const RANGE_HEADERS = z.object({
  Range: z.string().optional().describe('`bytes=1000-`: from this byte on'),
  'If-Range': z
    .string()
    .optional()
    .describe('ETag of the download that is resumed: another file comes whole'),
});

/** Descriptions of failures for clients; the status follows from the code. */
const FAILURES = {
  invalid_request: failure('InvalidRequest', 'Not valid; every mistake is listed', { schema: Invalid }),
  unauthorized: failure('Unauthorized', 'The credential is missing, malformed, unknown, or of another kind', {
    headers: { 'WWW-Authenticate': z.literal('Bearer') },
  }),
  forbidden: failure(
    'Forbidden',
    'The key lacks the scope, the app the action, or either a grant that this needs, or the account is not ready, or no operator',
    {
      schema: Forbidden,
    },
  ),
  not_found: failure('NotFound', 'There is no such thing, or it is not yours'),
  conflict: failure(
    'Conflict',
    'Not in the state that it is in, not so many, or it has just changed: try again',
    { schema: Conflict },
  ),
  too_large: failure('TooLarge', 'The body has more than 1 MiB'),
  unsupported_media: failure('UnsupportedMedia', 'The body is not declared as JSON'),
  locked: failure('Locked', 'It is locked, and cannot be changed'),
  internal: failure('Internal', 'The server failed; its log says why'),
  rate_limited: failure(
    'RateLimited',
    'Too often: the detail says what, as `dev:<kind>` where it is a kind of requests',
    {
      headers: { 'Retry-After': RETRY_AFTER },
    },
  ),
  unavailable: failure('Unavailable', 'Not now: try again later', {
    headers: { 'Retry-After': RETRY_AFTER.optional() },
  }),
} satisfies Partial<Record<ErrorCode, ZodOpenApiResponseObject>>;
export type FailureCode = keyof typeof FAILURES;

/** The route of the document. */
export function openApiRoute(document: () => object): OpenRoute {
  const schema = z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) });
  return {
    id: 'getOpenApi',
    path: '/openapi.json',
    tag: 'Service',
    summary: 'Get this OpenAPI document',
    answers: { 200: { description: 'The document', type: JSON_TYPE, schema } },
    serve: fixed(JSON_TYPE, () => JSON.stringify(document())),
  };
}

export function openApiDocument(
  routes: readonly Route[],
  operations: readonly OpenOperation[],
  open: readonly OpenRoute[],
): object {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route) };
  for (const operation of operations)
    paths[operation.path] = { ...paths[operation.path], [operation.method]: openOperationOf(operation) };
  for (const route of open) paths[route.path] = { ...paths[route.path], get: openRouteOf(route) };
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Earshot',
        version: INTERFACE_VERSION,
        'x-earshot-version': version,
        description: ABOUT,
      },
      tags: [...new Set([...routes, ...operations, ...open].map(({ tag }) => tag))].map(name => ({ name })),
      paths,
      components: { securitySchemes: SECURITY_SCHEMES },
    },
    { override: simplify },
  );
}

const RepeatHeader = z.object({
  [REPEAT_HEADER]: z
    .string()
    .max(MAX_REPEAT_KEY_CHARS)
    .optional()
    .describe(
      'Chosen anew for each thing: a request that is sent again with it in 10 minutes creates nothing',
    ),
});

function operationOf(route: Route): ZodOpenApiOperationObject {
  const { id, tag, summary, params, query, response, type, repeatable, isResumable } = route;
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...securityOf(route),
    requestParams: {
      path: params,
      query,
      ...(repeatable && { header: RepeatHeader }),
      ...(isResumable && { header: RANGE_HEADERS }),
    },
    ...requestBodyOf(route),
    responses: { ...responsesOf(response, errorsOf(route), type), ...partsOf(route), ...ownFailures(route) },
  };
}

/** Lists responses of a file of which a client may ask for a part. */
function partsOf({ isResumable, response, type }: Route) {
  if (!isResumable || !response || !type) return {};
  const headers = z.object({ ...RATE_HEADERS, 'Content-Range': z.string() });
  return {
    206: { description: 'The part', content: { [type]: { schema: response } }, headers },
    416: {
      description: 'Nothing of the part is in the file',
      content: { [JSON_TYPE]: { schema: Failed } },
      headers,
    },
  };
}

function requestBodyOf({ body, upload }: Route) {
  if (!body) return {};
  if (!upload) return { requestBody: { ...bodyOf(body), required: !body.safeParse(undefined).success } };
  const file = z.string().meta({ format: 'binary' });
  const form = z.object({
    [upload.field]: z.array(file),
    ...(body instanceof z.ZodObject ? body.shape : {}),
  });
  return {
    requestBody: { required: true, content: { [FORM_TYPE]: { schema: form }, [RAW_TYPE]: { schema: file } } },
  };
}

/** Collects the failures for which an operation has its own response form. */
function ownFailures({ failure: form }: Route) {
  const content = { [JSON_TYPE]: { schema: form?.schema ?? Failed } };
  const headers = z.object({ ...RATE_HEADERS, 'Retry-After': RETRY_AFTER.optional() });
  return Object.fromEntries(
    Object.entries(form?.statuses ?? {}).map(([status, description]) => [
      status,
      { description, content, headers },
    ]),
  );
}

function openOperationOf(operation: OpenOperation): ZodOpenApiOperationObject {
  const { id, tag, summary, body, response, errors = [] } = operation;
  return {
    operationId: id,
    tags: [tag],
    summary,
    security: [],
    ...(body ? { requestBody: bodyOf(body) } : {}),
    responses: responsesOf(response, [...(body ? BODY_FAILURES : []), ...errors, ...SERVER_FAILURES]),
  };
}

function bodyOf(schema: z.ZodType) {
  return { required: true, content: { [JSON_TYPE]: { schema } } };
}

function responsesOf(schema: z.ZodType | undefined, errors: FailureCode[], type: string = JSON_TYPE) {
  return {
    ...(schema ? { 200: { ...DONE, content: { [type]: { schema } } } } : { 204: DONE }),
    ...Object.fromEntries(errors.map(code => [ERRORS[code].status, FAILURES[code]])),
  };
}
const DONE = { description: 'Done', headers: z.object(RATE_HEADERS) };

/** Describes the accepted credentials, for people and for programs. */
function securityOf(access: Access) {
  const { scope, credential } = access;
  if (credential === 'appSecret') {
    const { action } = access;
    const needed = action === null ? 'installed it.' : `installed it and allows it \`${action}\`.`;
    return {
      description: `With a secret of the app alone, for a user who ${needed}`,
      ...(action === null ? {} : { 'x-required-action': action }),
      security: [{ appSecret: [] }],
    };
  }
  if (access.role)
    return {
      description: 'With an ID token of an operator alone.',
      'x-required-role': access.role,
      security: [{ idToken: [] }],
    };
  if (credential)
    return { description: `With ${ALONE[credential]} alone.`, security: [{ [credential]: [] }] };
  return {
    description: `A key needs the scope \`${scope}\`.`,
    'x-required-scope': scope,
    security: [{ apiKey: [scope] }, { idToken: [] }],
  };
}
const ALONE = { idToken: 'an ID token', apiKey: 'an API key' };

/** Lists every failure of an operation, in the order of the codes. */
function errorsOf({ query, body, errors = [], failure: form, ...access }: Route): FailureCode[] {
  if (form)
    return ['unauthorized', ...(access.scope ? (['forbidden'] as const) : []), ...errors, 'too_large'];
  const takesInput = Object.keys(query.shape).length > 0;
  const isApp = access.credential === 'appSecret';
  return [
    'unauthorized',
    ...(access.scope || access.role || (isApp && access.action) ? (['forbidden'] as const) : []),
    ...(isApp ? (['not_found'] as const) : []),
    ...(body ? BODY_FAILURES : takesInput ? (['invalid_request'] as const) : []),
    ...errors,
    'rate_limited',
    ...SERVER_FAILURES,
  ];
}
const BODY_FAILURES = ['invalid_request', 'too_large', 'unsupported_media'] as const;
const SERVER_FAILURES = ['internal', 'unavailable'] as const;

function openRouteOf({ id, tag, summary, security = [], answers }: OpenRoute): ZodOpenApiOperationObject {
  const responses = Object.entries(answers).map(([status, { description, type, schema }]) => [
    status,
    { description, content: { [type]: { schema } } },
  ]);
  return { operationId: id, tags: [tag], summary, security, responses: Object.fromEntries(responses) };
}

function failure(
  id: string,
  description: string,
  { schema = Failed, headers }: { schema?: z.ZodType; headers?: Record<string, z.ZodType> } = {},
): ZodOpenApiResponseObject {
  const content = { [JSON_TYPE]: { schema } };
  return { id, description, content, headers: z.object({ ...RATE_HEADERS, ...headers }) };
}

/** Removes constraints that only describe our own checks: clients have to accept fields that are added later. */
const simplify: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  mergeNull(jsonSchema);
};

/** Rewrites `anyOf: [X, null]` as a nullable X: tools look for bounds beside the name of a field. */
function mergeNull(schema: Parameters<ZodOpenApiOverride>[0]['jsonSchema']): void {
  const [value, none, ...others] = schema.anyOf ?? [];
  if (none?.type !== 'null' || others.length > 0) return;
  if (typeof value?.type !== 'string' || value.enum || value.const !== undefined) return;
  delete schema.anyOf;
  Object.assign(schema, { ...value, ...schema, type: [value.type, 'null'] });
}
