/** JSON schemas as the grammars of llama.cpp know them. Pure. */

type Schema = Readonly<Record<string, unknown>>;

/**
 * The form alone: kinds, properties, items, choices. Bounds, patterns and formats are left out: as rules of a grammar
 * they cost more time than the model takes, and whoever asked looks at the answer anyway.
 */
export function formOf(schema: Schema): object {
  if (schema.const !== undefined) return { const: schema.const };
  if (Array.isArray(schema.enum)) return { enum: schema.enum };
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) return { oneOf: choices.map(formOf) };
  if (schema.type === 'object') return objectOf(schema);
  if (schema.type === 'array')
    return { type: 'array', items: isSchema(schema.items) ? formOf(schema.items) : TEXT };
  if (Array.isArray(schema.type)) return { oneOf: schema.type.map(type => formOf({ ...schema, type })) };
  return typeof schema.type === 'string' ? { type: schema.type } : TEXT;
}

const TEXT = { type: 'string' };

/** Builds an object with all properties, also optional ones, in their order. */
function objectOf({ properties }: Schema): object {
  const known = isSchema(properties) ? Object.entries(properties) : [];
  return {
    type: 'object',
    properties: Object.fromEntries(known.map(([name, of]) => [name, isSchema(of) ? formOf(of) : TEXT])),
  };
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null;
}
