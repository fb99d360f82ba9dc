import {
  bodyOf,
  documentOf,
  type OpenApi,
  type Operation,
  operationsOf,
  resolve,
} from '../helpers/openapi.ts';
import { buildServer, countingStt } from '../helpers/services.ts';
import { generated, table } from './markdown.ts';

type Entry = ReturnType<typeof operationsOf>[number];

const CREDENTIALS: Record<string, string> = {
  apiKey: 'API key',
  idToken: 'ID token',
  appSecret: "app's secret",
  metricsToken: '`metrics.token`',
};

/** Renders docs/api.md from the OpenAPI document of a running server. */
export async function apiPage(): Promise<string> {
  const instance = await buildServer(countingStt());
  try {
    return render(await documentOf(instance.url));
  } finally {
    await instance.stop();
  }
}

function render(document: OpenApi): string {
  const byTag = Map.groupBy(operationsOf(document), ({ operation }) => operation.tags[0] ?? 'Other');
  const sections = [...byTag].map(([tag, entries]) => {
    const rows = entries.map(entry => row(document, entry));
    return `## ${tag}\n\n${table(['Operation', 'What it does', 'Parameters and fields', 'Credential'], rows)}\n`;
  });
  return `# REST API

${generated('the OpenAPI document')}

A running server describes its whole REST interface: \`GET /openapi.json\` is an OpenAPI 3.1 document, and \`GET /docs\` a page
to read and try it (<http://127.0.0.1:8420/docs>). Both come from the schemas that check each request. Live audio is
described in [live-audio.md](live-audio.md); a complete program is in [apps.md](apps.md).

- **Credentials** go into the header \`Authorization: Bearer …\`. An API key needs the scope in the table; an ID token may do
  everything that its owner may. [accounts-and-families.md](accounts-and-families.md) explains both.
- **Errors** are \`{"detail": …}\` with status 401, 403, 404, 409, 413, 415, 422, 423, 429 or 503. A 422 lists up to 20
  mistakes.
- **Rate limits.** \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (seconds) tell how many requests of
  this kind may follow. A 429 names the kind, such as \`dev:read\`; \`Retry-After\` says when to try again.

In the third column \`*\` marks what is required. Fields of a JSON body follow "body:".

${sections.join('\n')}`;
}

function row(document: OpenApi, { template, method, operation }: Entry): string[] {
  const path = `\`${method.toUpperCase()} ${template}\``;
  return [path, operation.summary, inputsOf(document, operation), credentialOf(operation)];
}

function inputsOf(document: OpenApi, operation: Operation): string {
  const parameters = (operation.parameters ?? [])
    .map(parameter => resolve(document, parameter))
    .filter(parameter => parameter.in === 'query')
    .map(({ name, required }) => mark(name, required));
  const body = bodyOf(document, operation);
  const required = (body?.required ?? []) as string[];
  const fields = Object.keys(body?.properties ?? {}).map(name => mark(name, required.includes(name)));
  const parts = [parameters.join(', '), fields.length > 0 ? `body: ${fields.join(', ')}` : ''];
  return parts.filter(part => part !== '').join('; ');
}

function mark(name: string, required = false): string {
  return `\`${name}\`${required ? '*' : ''}`;
}

function credentialOf(operation: Operation): string {
  const {
    security,
    'x-required-scope': scope,
    'x-required-action': action,
    'x-required-role': role,
  } = operation;
  const kinds = (security ?? []).map(each => {
    const [kind = ''] = Object.keys(each);
    const name = CREDENTIALS[kind] ?? kind;
    if (kind === 'apiKey' && scope) return `${name} with \`${scope}\``;
    if (kind === 'idToken' && role) return `${name} of an ${role}`;
    if (kind === 'appSecret' && action) return `${name}, \`${action}\``;
    return name || 'none';
  });
  return kinds.length === 0 ? 'none' : kinds.join(', or ');
}
