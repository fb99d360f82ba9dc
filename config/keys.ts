import { z } from 'zod';

type Schema = z.core.$ZodType;

/** Setting of a schema: a value, not a section. */
export interface Key {
  /** From the root: `['log', 'level']`. */
  path: string[];
  /** Its name in the environment, without prefix: `LOG__LEVEL`. */
  variable: string;
  schema: Schema;
  /** Never printed, and may come from a file. */
  secret: boolean;
}

/** Lists all settings of a schema and of its sections, in order. Empty if the schema is no section. */
export function keysOf(schema: Schema, path: string[] = []): Key[] {
  const shape = shapeOf(schema);
  if (shape === null && path.length === 0) return [];
  if (shape === null) return [{ path, variable: variableOf(path), schema, secret: isSecret(schema) }];
  return Object.entries(shape).flatMap(([name, child]) => keysOf(child, [...path, name]));
}

/** Paths of all secrets of a schema; `*` stands for any item of a list. */
export function secretPathsOf(schema: Schema): string[][] {
  return keysOf(schema).flatMap(({ path, schema: own, secret }) => {
    if (secret) return [path];
    const element = elementOf(own);
    return element ? secretPathsOf(element).map(rest => [...path, '*', ...rest]) : [];
  });
}

/** The schema of the items of a list; null when it is none. */
export function elementOf(schema: Schema): Schema | null {
  const inner = layersOf(schema).at(-1);
  return inner instanceof z.core.$ZodArray ? inner._zod.def.element : null;
}

/** `['listen', 'idleMs']` → `LISTEN__IDLE_MS`. */
function variableOf(path: string[]): string {
  const words = path.map(name => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll('-', '_'));
  return words.join('__').toUpperCase();
}

/** The fields of a section; null when the schema is not one. */
export function shapeOf(schema: Schema): Readonly<Record<string, Schema>> | null {
  const inner = layersOf(schema).at(-1);
  return inner instanceof z.core.$ZodObject ? inner._zod.def.shape : null;
}

/** Returns the description of a setting; null if its schema has none. */
export function descriptionOf(schema: Schema): string | null {
  const [found] = layersOf(schema).flatMap(layer => z.core.globalRegistry.get(layer)?.description ?? []);
  return found ?? null;
}

export function isSecret(schema: Schema): boolean {
  return layersOf(schema).some(layer => z.core.globalRegistry.get(layer)?.secret === true);
}

/** Tells whether a setting names code to run: it must not be set on the page. */
export function isFileOnly(schema: Schema): boolean {
  return layersOf(schema).some(layer => z.core.globalRegistry.get(layer)?.fileOnly === true);
}

/**
 * Parses a text from the environment for this schema: a number, a boolean, a list (commas, or JSON). An unparsable text
 * is passed on, and the schema reports what it expects.
 */
export function readText(schema: Schema, text: string): unknown {
  const inner = layersOf(schema).at(-1) ?? schema;
  if (inner instanceof z.core.$ZodNumber) return readNumber(text);
  if (inner instanceof z.core.$ZodBoolean) return TRUTH.get(text.trim().toLowerCase()) ?? text;
  if (inner instanceof z.core.$ZodArray) return readList(inner._zod.def.element, text);
  if (inner instanceof z.core.$ZodLiteral) {
    return inner._zod.def.values.find(value => String(value) === text) ?? text;
  }
  if (inner instanceof z.core.$ZodUnion) return readUnion(inner._zod.def.options, text);
  if (inner instanceof z.core.$ZodRecord || inner instanceof z.core.$ZodObject) return readJson(text);
  return text;
}

const TRUTH = new Map([
  ...['true', 'yes', 'on', '1'].map(word => [word, true] as const),
  ...['false', 'no', 'off', '0'].map(word => [word, false] as const),
]);

function readNumber(text: string): unknown {
  const number = Number(text);
  return text.trim() === '' || Number.isNaN(number) ? text : number;
}

function readList(element: Schema, text: string): unknown {
  if (text.trimStart().startsWith('[')) return readJson(text);
  return text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
    .map(item => readText(element, item));
}

function readUnion(options: readonly Schema[], text: string): unknown {
  const readings = options.map(option => ({ option, value: readText(option, text) }));
  const fitting = readings.find(({ option, value }) => z.core.safeParse(option, value).success);
  return fitting ? fitting.value : text;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The schema and what it wraps (`optional`, `default`, `pipe`…), outermost first. */
function layersOf(schema: Schema): Schema[] {
  const def: { type: string; innerType?: Schema; in?: Schema } = schema._zod.def;
  const inner = def.innerType ?? def.in;
  return inner === undefined ? [schema] : [schema, ...layersOf(inner)];
}
