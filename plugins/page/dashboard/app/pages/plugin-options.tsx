/** Options of one plugin as a form that is made from their schemas. Secrets are never shown, only replaced. */
import { useId, useState } from 'preact/hooks';
import { say } from '../components.tsx';
import type { PluginOption, PluginState } from '../data.ts';
import { messageOf } from '../notices.tsx';
import { type Schema, typeOf } from '../schema-form.tsx';
import { api } from '../session.ts';
import { t } from '../texts.ts';

/** Entered values by option name; null: back to the value of the file, or to the default. */
type Changes = Readonly<Record<string, unknown>>;

export function PluginOptions({ plugin, reload }: { plugin: PluginState; reload: () => void }) {
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const { name, options } = plugin;

  async function send(changes: Changes): Promise<void> {
    setBusy(true);
    setProblem('');
    try {
      const path = `/v1/system/plugins/${encodeURIComponent(name)}`;
      const changed = await api<PluginState>('PATCH', path, { options: changes });
      say(changed.state === 'degraded' ? t.value.pluginChangedBadly(name) : t.value.pluginChanged(name));
      reload();
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  }

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    try {
      const changes = options.flatMap(option => changeOf(option, data));
      if (changes.length === 0) setProblem(t.value.nothingChanged);
      else void send(Object.fromEntries(changes));
    } catch (error) {
      setProblem(messageOf(error));
    }
  }

  const isChangeable = options.some(({ changeable }) => changeable);
  return (
    <form class="plugin-options" onSubmit={submit} key={JSON.stringify(options)}>
      {options.map(option => (
        <Option key={option.name} option={option} reset={() => void send({ [option.name]: null })} />
      ))}
      <p class="problem" role="alert">
        {problem}
      </p>
      {isChangeable ? (
        <>
          <p class="hint">{t.value.pluginRestarts}</p>
          <button type="submit" disabled={isBusy}>
            {isBusy ? t.value.saving : t.value.save}
          </button>
        </>
      ) : (
        <p class="hint">{t.value.optionsElsewhere}</p>
      )}
    </form>
  );
}

function Option({ option, reset }: { option: PluginOption; reset: () => void }) {
  const id = useId();
  const { name, description, from, place, changeable } = option;
  const origin = t.value.optionFrom[from];
  return (
    <div class="option">
      <label for={id}>
        <code>{name}</code>
      </label>
      <Field option={option} id={id} />
      <p class="hint" id={`${id}-hint`}>
        {description}
      </p>
      <p class="faint">
        {place === null ? origin : `${origin}: `}
        {place !== null && <code class="break">{place}</code>}
        {!changeable && ` · ${t.value.optionFixed}`}
        {from === 'page' && (
          <button type="button" class="quiet" aria-label={`${t.value.optionReset}: ${name}`} onClick={reset}>
            {t.value.optionReset}
          </button>
        )}
      </p>
    </div>
  );
}

function Field({ option, id }: { option: PluginOption; id: string }) {
  const { name, schema, secret, value, from, changeable } = option;
  const given = { id, name, disabled: !changeable, 'aria-describedby': `${id}-hint` };
  const text = textOf(value);
  if (secret)
    return (
      <input
        {...given}
        type="password"
        autocomplete="new-password"
        placeholder={from === 'default' ? t.value.notSet : t.value.secretKept}
      />
    );
  const kind = kindOf(schema);
  if (kind === 'boolean') return <input {...given} type="checkbox" defaultChecked={value === true} />;
  if (kind === 'choice')
    return (
      <select {...given} value={text}>
        {value === null && <option value="">{t.value.notSet}</option>}
        {schema.enum?.map(choice => (
          <option key={choice} value={String(choice)}>
            {String(choice)}
          </option>
        ))}
      </select>
    );
  if (kind === 'text' || kind === 'number')
    return (
      <input
        {...given}
        autocomplete="off"
        inputMode={kind === 'number' ? 'decimal' : 'text'}
        defaultValue={text}
      />
    );
  return (
    <>
      <textarea {...given} rows={3} autocomplete="off" defaultValue={text} />
      <span class="hint">{kind === 'lines' ? t.value.oneEachLine : t.value.asJson}</span>
    </>
  );
}

type FieldKind = 'boolean' | 'choice' | 'number' | 'text' | 'lines' | 'json';

function kindOf(schema: Schema): FieldKind {
  if (schema.enum) return 'choice';
  const type = typeOf(schema);
  if (type === 'boolean') return 'boolean';
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'array' && schema.items?.type === 'string') return 'lines';
  return type === 'string' && !schema.anyOf ? 'text' : 'json';
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every(each => typeof each === 'string')) return value.join('\n');
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}

/** Returns the entered value; nothing if it is unchanged. The server validates it, as it has the whole schema. */
function changeOf(
  { name, schema, secret, value, changeable }: PluginOption,
  data: FormData,
): [string, unknown][] {
  if (!changeable) return [];
  const kind = kindOf(schema);
  if (kind === 'boolean' && !secret)
    return data.has(name) === (value === true) ? [] : [[name, data.has(name)]];
  const text = String(data.get(name) ?? '')
    .replaceAll('\r\n', '\n')
    .trim();
  if (text === (secret ? '' : textOf(value))) return [];
  return [[name, text === '' ? null : parsed(text, secret ? 'text' : kind, schema)]];
}

function parsed(text: string, kind: FieldKind, schema: Schema): unknown {
  if (kind === 'choice') return schema.enum?.find(choice => String(choice) === text) ?? text;
  if (kind === 'lines')
    return text
      .split('\n')
      .map(line => line.trim())
      .filter(line => line !== '');
  const isNumber = kind === 'number' && Number.isFinite(Number(text));
  if (isNumber) return Number(text);
  return kind === 'json' && /^[[{"\d]|^(true|false)$/.test(text) ? JSON.parse(text) : text;
}
