/**
 * Fields generated from a JSON schema: one for each property that is a text, a number, a choice or a switch.
 */
import { t } from './texts.ts';

export interface Schema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  required?: string[];
  enum?: (string | number)[];
  anyOf?: Schema[];
  default?: unknown;
  maxLength?: number;
  secret?: boolean;
}

export function SchemaFields({ schema }: { schema: Schema }) {
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([name, property]) => (
        <Field
          key={name}
          name={name}
          schema={property}
          isRequired={schema.required?.includes(name) ?? false}
        />
      ))}
    </>
  );
}

function Field({ name, schema, isRequired }: { name: string; schema: Schema; isRequired: boolean }) {
  const type = typeOf(schema);
  if (type === 'boolean')
    return (
      <label class="check">
        <input type="checkbox" name={name} defaultChecked={schema.default === true} />
        {name}
        <span class="hint">{schema.description}</span>
      </label>
    );
  if (type === 'object' || type === 'array') return null;
  const given = {
    name,
    required: isRequired,
    maxLength: schema.maxLength ?? 2000,
    autocomplete: 'off',
    defaultValue: schema.default === undefined ? '' : String(schema.default),
  };
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: either of the two is one
    <label>
      {isRequired ? name : `${name} (${t.value.optional})`}
      {schema.enum ? (
        <select name={name}>
          {schema.enum.map(value => (
            <option key={value} value={String(value)}>
              {String(value)}
            </option>
          ))}
        </select>
      ) : (
        <Input {...given} isSecret={schema.secret ?? false} isNumber={type !== 'string'} />
      )}
      <span class="hint">{schema.description}</span>
    </label>
  );
}

function Input({
  isSecret,
  isNumber,
  ...given
}: {
  name: string;
  required: boolean;
  maxLength: number;
  autocomplete: string;
  defaultValue: string;
  isSecret: boolean;
  isNumber: boolean;
}) {
  if (isSecret) return <input {...given} type="password" />;
  if (isNumber) return <input {...given} type="number" step="any" />;
  return <input {...given} type="text" />;
}

export function typeOf({ type, anyOf = [], enum: choices }: Schema): string {
  if (choices) return typeof choices[0];
  const given = [type ?? anyOf.map(each => each.type ?? '')].flat(2);
  return given.find(each => each !== 'null' && each !== '') ?? 'string';
}

/** Values of the form as the schema expects them; empty ones are omitted. */
export function valuesOf(form: HTMLFormElement, schema: Schema): Record<string, unknown> {
  const data = new FormData(form);
  const values: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const type = typeOf(property);
    const given = String(data.get(name) ?? '').trim();
    if (type === 'boolean') values[name] = data.has(name);
    else if (given !== '') values[name] = type === 'number' || type === 'integer' ? Number(given) : given;
  }
  return values;
}
