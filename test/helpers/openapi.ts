/** Reads the OpenAPI document of a running server. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { samplesToBytes } from '../../core/audio/pcm.ts';
import { profileRecording } from './voices.ts';

export type Json = Record<string, unknown>;

export interface Answer {
  headers?: Record<string, { required?: boolean }>;
  /** Absent: an answer without a body. */
  content?: Record<string, { schema: Json }>;
}

interface Parameter {
  in: 'path' | 'query' | 'header';
  name: string;
  required?: boolean;
  schema: Json;
}

export interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  security: Record<string, string[]>[];
  'x-required-scope'?: string;
  'x-required-action'?: string;
  'x-required-role'?: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Json }> };
  responses: Record<string, Answer>;
}

export interface OpenApi {
  openapi: string;
  info: { version: string; 'x-earshot-version': string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json>; responses: Record<string, Answer> };
}

export async function documentOf(url: string): Promise<OpenApi> {
  const response = await fetch(`${url}/openapi.json`);
  return (await response.json()) as OpenApi;
}

/** Returns the whole body; of an endless event stream, its first piece. */
export async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return first?.value ?? '';
}

export function operationsOf(document: OpenApi) {
  return Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item).map(([method, operation]) => ({ template, method, operation })),
  );
}

export function find(document: OpenApi, id: string) {
  const found = operationsOf(document).find(({ operation }) => operation.operationId === id);
  if (!found) throw new Error(`the document has no operation ${id}`);
  return found;
}

export function bodyOf(document: OpenApi, operation: Operation): Json | undefined {
  const schema = operation.requestBody?.content['application/json']?.schema;
  return schema && resolve(document, schema);
}

/**
 * Returns a file that an operation accepts as its body: half a second of silence, or a voice. Undefined: it accepts
 * none.
 */
export function fileOf({ requestBody, operationId }: Operation): Blob | undefined {
  const type = 'application/octet-stream';
  if (!requestBody?.content[type]) return undefined;
  const isVoice = ['recordSpeechProfile', 'recordVoiceSample'].includes(operationId);
  return new Blob([isVoice ? samplesToBytes(profileRecording('slt')) : new Uint8Array(16_000)], { type });
}

export function exampleOf(document: OpenApi, operation: Operation): unknown {
  return (bodyOf(document, operation)?.examples as unknown[] | undefined)?.[0];
}

export function resolve<T extends object>(document: OpenApi, value: T): T {
  if (!('$ref' in value)) return value;
  const steps = String(value.$ref).slice(2).split('/');
  return steps.reduce<unknown>((inner, step) => (inner as Json)[step], document) as T;
}

/** Lists what is wrong with a value. Stricter than the document: undeclared fields are mistakes. */
export function checker({ components }: OpenApi) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  // Added once: as a part of each schema, all components would be compiled again with each.
  ajv.addSchema({ $id: DOCUMENT, components: close({ schemas: components.schemas }) });
  const compiled = new Map<Json, ReturnType<typeof ajv.compile>>();
  return (schema: Json, value: unknown): string[] => {
    const validate = compiled.get(schema) ?? ajv.compile(close(schema) as Json);
    compiled.set(schema, validate);
    return validate(value) ? [] : (validate.errors ?? []).map(it => `${it.instancePath} ${it.message}`);
  };
}

const DOCUMENT = 'earshot:document';

/** Forbids undeclared fields, and lets references lead to the document from wherever they are. */
function close(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(close);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === '$ref' && typeof value === 'string' ? DOCUMENT + value : close(value),
    ]),
  );
  return 'properties' in inner ? { additionalProperties: false, ...inner } : inner;
}
