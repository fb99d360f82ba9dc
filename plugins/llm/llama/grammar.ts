/** Reduces JSON schemas to what the grammars of llama.cpp support. Pure. */

type Schema = Readonly<Record<string, unknown>>;

/**
 * Keeps types, properties, items and choices. Bounds, patterns and formats are left out: as rules of a grammar they
 * cost more time than the model itself, and the caller validates the answer anyway.
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

/** Builds an object whose properties, also optional ones, all have to be present, in their order. */
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
