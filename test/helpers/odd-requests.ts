/** Creates random requests from an OpenAPI document: valid ones, and ones that nobody would send. */
import fc from 'fast-check';
import { bodyOf, type Json, type OpenApi, type Operation, operationsOf, resolve } from './openapi.ts';

export interface OddRequest {
  operation: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  /** Sent as it is; null: no body. */
  body: Buffer | null;
}

const LONE = ['\ud800', '\udc00x', 'a\ud83d'];
const ODD_TEXTS = [
  ...['', ' ', '\t\n', '\u0000', 'a\u0000b', '\u202e\u2066abc', 'مرحبا שלום', '\ufeff', '\u200b', '\u00a0'],
  ...['👩‍👩‍👧‍👦', '🏳️‍🌈', 'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢', 'ﷺ', '\uffff', '\u{10ffff}', 'ı', 'ẞ', 'ﬀ'],
  ...["'; drop table users; --", '%', '_', '%00', '../..', '{{user_name}}', '<script>', '"', '\\', '\\u0000'],
  ...['null', 'undefined', 'NaN', 'true', '-0', '1e999', '0x10', '__proto__', 'constructor', 'toString'],
  ...['"a" AND', 'NEAR(', '*', 'a OR', '^', 'a:b', '-', '(', '2026-02-30', '0000-00-00', '+275760-09-13'],
  ...[
    '9999-12-31T23:59:60Z',
    '1970-01-01T00:00:00+99:99',
    '2026-11-21T10:00:00',
    '00000000-0000-0000-0000-000000000000',
  ],
];
/** Literals that `JSON.stringify` cannot produce, inserted afterwards. */
const LITERALS: Record<string, string> = {
  '@huge': '1e400',
  '@tiny': '1e-400',
  '@long': '123456789012345678901234567890.5',
  '@digits': `1${'0'.repeat(400)}`,
  '@minus': '-0',
  '@deep': `${'['.repeat(5000)}${']'.repeat(5000)}`,
  '@deeper': `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
  '@proto': '{"__proto__":{"x":1},"constructor":1,"a":1,"a":2}',
};
const LITERAL = new RegExp(`"(${Object.keys(LITERALS).join('|')})"`, 'g');

const text = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...ODD_TEXTS, ...LONE) },
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.integer({ min: 490, max: 2100 }).map(length => '🙂'.repeat(length)) },
);
const number = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -1, 0.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e15, 1e21, -1e300, 5e-324, 8.64e15),
);
const odd: fc.Arbitrary<unknown> = fc.oneof(
  text,
  number,
  fc.constantFrom(...Object.keys(LITERALS)),
  fc.constantFrom(null, true, false, [], {}, [[]], [null], { '': '' }),
  fc.jsonValue({ maxDepth: 3 }),
);
/** Usually valid: a request is only accepted when many values are. */
const nearly = (good: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 40, arbitrary: good }, { weight: 1, arbitrary: odd });
const seldom = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 14, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });

/** Creates a value that satisfies the schema, or nearly does. */
function valueBy(document: OpenApi, written: Json): fc.Arbitrary<unknown> {
  const schema = resolve(document, written) as Record<string, never>;
  const { type, anyOf, oneOf, items = {} } = schema as Json;
  if (schema.enum) return nearly(fc.constantFrom(...(schema.enum as unknown[])));
  if ('const' in schema) return nearly(fc.constant(schema.const));
  const choices = (anyOf ?? oneOf) as Json[] | undefined;
  if (choices) return fc.oneof(...choices.map(choice => valueBy(document, choice)));
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object':
      return nearly(objectOf(document, schema));
    case 'array':
      return nearly(
        fc.array(valueBy(document, items as Json), {
          minLength: (schema.minItems as number | undefined) ?? 0,
          maxLength: 4,
        }),
      );
    case 'string':
      return nearly(stringOf(schema));
    case 'integer':
      return nearly(fc.integer(bounds(schema)));
    case 'number':
      return nearly(fc.double({ ...bounds(schema), noNaN: true, noDefaultInfinity: true }));
    case 'boolean':
      return nearly(fc.boolean());
    case 'null':
      return fc.constant(null);
    default:
      return odd;
  }
}

/** Half of them derive from the example, if there is one: when fields depend on each other, few others are accepted. */
function objectOf(document: OpenApi, { properties = {}, required = [], examples }: Json) {
  const fields = Object.fromEntries(
    Object.entries(properties as Json).map(([name, inner]) => [name, valueBy(document, inner as Json)]),
  );
  const made = fc.record(fields, { requiredKeys: required as string[] });
  if (!Array.isArray(examples)) return made;
  const changes = fc
    .subarray(Object.keys(fields), { maxLength: Math.min(2, Object.keys(fields).length) })
    .chain(names => fc.record(Object.fromEntries(names.map(name => [name, fields[name] ?? odd]))));
  const changed = fc
    .tuple(fc.constantFrom(...examples), changes)
    .map(([example, other]) => ({ ...example, ...other }));
  return fc.oneof(made, changed);
}

function bounds({ minimum: min, maximum: max }: Json): { min?: number; max?: number } {
  return {
    ...(typeof min === 'number' ? { min } : {}),
    ...(typeof max === 'number' ? { max } : {}),
  };
}

const SHAPED = ['SPEAKER_01', 'en', 'en-GB', '#3b82f6', '2026-11-21', 'android_1f'];

function stringOf({ format, pattern, minLength, maxLength }: Json): fc.Arbitrary<string> {
  if (format === 'date-time')
    return fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })
      .map(date => date.toISOString());
  const fitting =
    typeof pattern === 'string' ? SHAPED.filter(shaped => new RegExp(pattern).test(shaped)) : [];
  if (fitting.length > 0) return fc.constantFrom(...fitting);
  const min = (minLength as number | undefined) ?? 0;
  const max = Math.min((maxLength as number | undefined) ?? 60, 60);
  return fc.string({ unit: 'grapheme', minLength: Math.min(min, max), maxLength: max });
}

const ODD_HEADERS: Record<string, string>[] = [
  { 'Content-Type': 'text/plain' },
  { 'Content-Type': 'application/json; charset=utf-16' },
  { 'Content-Type': 'application/vnd.api+json' },
  { 'Content-Type': 'multipart/form-data; boundary=x' },
  { 'Content-Type': '\u00fc' },
  { 'Content-Encoding': 'gzip' },
  { Accept: 'image/png' },
  { 'Accept-Encoding': 'br;q=x, ,,' },
  { 'If-None-Match': '*', 'If-Modified-Since': 'never' },
  { Range: 'bytes=0-0,-1' },
  { Origin: 'null', Cookie: 'a=b; =; "' },
  { 'X-Forwarded-For': "'; --, ::1", Forwarded: 'for=\u00e9' },
  { 'X-HTTP-Method-Override': 'DELETE' },
  { 'Content-Length-X': 'y'.repeat(8000) },
  { Expect: 'something' },
  { Authorization: 'Bearer' },
  { Authorization: `Bearer ${'\u00ff'.repeat(50)}` },
  { Authorization: `Bearer ${'a.'.repeat(3000)}` },
  { Authorization: 'Bearer omi_dev_00000000000000000000000000000000' },
  { Authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' },
];

/** Node itself answers 431 to more than 16 KiB. */
const MAX_HEAD = 15_000;

/**
 * @param ids existing ids, by parameter name
 * @param credential for each kind of operation
 */
export function oddRequests(
  document: OpenApi,
  ids: Record<string, string[]>,
  credential: (operation: Operation) => string | null,
): fc.Arbitrary<OddRequest> {
  const operations = operationsOf(document);
  return fc.oneof(...operations.map(each => requestOf(document, each, ids, credential)));
}

function requestOf(
  document: OpenApi,
  { template, method, operation }: ReturnType<typeof operationsOf>[number],
  ids: Record<string, string[]>,
  credential: (operation: Operation) => string | null,
): fc.Arbitrary<OddRequest> {
  const parameters = operation.parameters ?? [];
  const names = parameters.filter(each => each.in === 'path').map(({ name }) => name);
  const queries = parameters.filter(each => each.in === 'query');
  const schema = bodyOf(document, operation);
  const usual = credential(operation);
  return fc
    .record({
      params: fc.tuple(...names.map(name => segment(ids[name] ?? examplesOf(parameters, name)))),
      query: fc.tuple(...queries.map(each => queryOf(document, each, ids[each.name] ?? []))),
      further: seldom(fc.string({ unit: 'binary', maxLength: 20 })),
      headers: seldom(fc.constantFrom(...ODD_HEADERS)),
      body: schema ? bodyBytes(document, schema) : fc.constant(null),
    })
    .map(({ params, query, further, headers, body }) => {
      const path = template.replace(/\{(\w+)\}/g, (_, name) => params[names.indexOf(name)] ?? '');
      const search = [...query, ...(further === null ? [] : [escaped(further)])].filter(part => part !== '');
      return {
        operation: operation.operationId,
        method: method.toUpperCase(),
        path: search.length > 0 ? `${path}?${search.join('&')}` : path,
        headers: {
          ...(usual === null ? {} : { Authorization: `Bearer ${usual}` }),
          ...(body ? { 'Content-Type': 'application/json' } : {}),
          ...headers,
        },
        body,
      };
    })
    .filter(({ path, headers }) => path.length + JSON.stringify(headers).length < MAX_HEAD);
}

/** One segment of a path: not empty, without a slash. */
function segment(known: string[]): fc.Arbitrary<string> {
  const wild = text.map(escaped).filter(part => part !== '' && part.length < 8000);
  const raw = fc.constantFrom('%', '%zz', '%ff', '%ed%a0%80', '%00', '%2f', '%2e%2e', '.', '..', '%C0%AF');
  return known.length > 0
    ? fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, wild, raw, fc.uuid())
    : fc.oneof(wild, raw, fc.uuid());
}

function examplesOf(parameters: { name: string; schema: Json }[], wanted: string): string[] {
  const schema = parameters.find(({ name }) => name === wanted)?.schema;
  return (schema?.examples as string[] | undefined) ?? [];
}

function queryOf(
  document: OpenApi,
  { name, schema, required }: { name: string; schema: Json; required?: boolean },
  known: string[],
) {
  const written = valueBy(document, schema).map(value =>
    typeof value === 'string' ? value : JSON.stringify(value),
  );
  const part = fc.oneof(
    ...(known.length > 0
      ? [{ weight: 6, arbitrary: fc.constantFrom(...known).map(value => `${name}=${escaped(value)}`) }]
      : []),
    { weight: 4, arbitrary: written.map(value => `${name}=${escaped(value)}`) },
    { weight: 1, arbitrary: text.map(value => `${name}=${escaped(value)}`) },
    fc.constantFrom(name, `${name}=`, `${name}=%`, `${name}[]=1`, `${name}=1&${name}=2`, `${name}=%ff%fe`),
  );
  return required ? part : fc.option(part, { nil: '', freq: 2 });
}

function bodyBytes(document: OpenApi, schema: Json): fc.Arbitrary<Buffer | null> {
  const json = valueBy(document, schema).map(value =>
    (JSON.stringify(value) ?? 'null').replace(LITERAL, (_, name: string) => LITERALS[name] ?? ''),
  );
  return fc.oneof(
    { weight: 60, arbitrary: json.map(written => Buffer.from(written)) },
    { weight: 3, arbitrary: odd.map(value => Buffer.from(JSON.stringify(value) ?? '')) },
    { weight: 2, arbitrary: json.map(written => Buffer.from(written.slice(0, -1))) },
    { weight: 2, arbitrary: fc.uint8Array({ maxLength: 50 }).map(bytes => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.constantFrom(...LARGE) },
    { weight: 1, arbitrary: fc.constant(null) },
  );
}

const MIB = 1024 * 1024;
const LARGE = [
  Buffer.from(`{"text":"${'x'.repeat(MIB - 11)}"}`),
  Buffer.from(`{"content":"${'\\ud800'.repeat(170_000)}"}`),
  Buffer.from(`{"description":"${'é'.repeat(400_000)}"}`),
  Buffer.from(`${'['.repeat(MIB / 2)}${']'.repeat(MIB / 2)}`),
  Buffer.from(`[${'0,'.repeat(MIB / 2 - 2)}0]`),
  Buffer.from(' '.repeat(MIB)),
  Buffer.from(`"${'x'.repeat(MIB)}"`),
];

const escaped = (given: string) => encodeURIComponent(given.toWellFormed());
