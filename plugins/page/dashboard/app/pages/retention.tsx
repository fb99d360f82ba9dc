import { useState } from 'preact/hooks';
import { Show, say, useLoaded } from '../components.tsx';
import type { Folder, Retention, RetentionPreview } from '../data.ts';
import { dateTime } from '../format.ts';
import { messageOf } from '../notices.tsx';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/users/retention';
const KINDS = ['conversations', 'photos', 'audio', 'deliveries'] as const;
/** Kinds of data that can be sorted into folders. */
const FILED: ReadonlySet<string> = new Set(['conversations', 'photos']);
/** Limits of the API. */
const MAX_RULES = 50;
const MAX_DAYS = 36_500;

type Rule = Retention['rules'][number];

/** Rules that delete data by its age. Before they are saved, a preview shows what they would delete. */
export function RetentionForm() {
  const stored = useLoaded('retention', async () => {
    const [retention, folders] = await Promise.all([
      api<Retention>('GET', PATH),
      api<Folder[]>('GET', '/v1/dev/user/folders'),
    ]);
    return { retention, folders };
  });
  return (
    <Show loaded={stored}>
      {({ retention, folders }) => (
        <Form
          key={JSON.stringify(retention)}
          retention={retention}
          folders={folders}
          set={saved => stored.set({ retention: saved, folders })}
        />
      )}
    </Show>
  );
}

function Form({
  retention,
  folders,
  set,
}: {
  retention: Retention;
  folders: readonly Folder[];
  set(saved: Retention): void;
}) {
  const [draft, setDraft] = useState(retention);
  const [preview, setPreview] = useState<RetentionPreview | null>(null);
  const [problem, setProblem] = useState('');
  const { rules } = draft;

  function edit(changes: Partial<Retention>): void {
    setDraft({ ...draft, ...changes });
    setPreview(null); // the preview was for other rules
    setProblem('');
  }
  const editRule = (index: number, changes: Partial<Rule>) =>
    edit({ rules: rules.map((rule, place) => (place === index ? { ...rule, ...changes } : rule)) });

  async function ask(work: () => Promise<void>) {
    setProblem('');
    try {
      await work();
    } catch (error) {
      setProblem(messageOf(error));
    }
  }
  return (
    <form
      class="card note fields"
      onSubmit={event => {
        event.preventDefault();
        void ask(async () => setPreview(await api<RetentionPreview>('POST', `${PATH}/preview`, draft)));
      }}
    >
      <p class="hint">{rules.length === 0 ? t.value.retentionNone : t.value.retentionAbout}</p>
      {rules.map((rule, index) => (
        <fieldset key={index} class="rule">
          <legend>{t.value.retentionRule(index + 1)}</legend>
          <span class="inline">
            <RuleFields rule={rule} folders={folders} edit={changes => editRule(index, changes)} />
            <button
              type="button"
              class="quiet danger"
              onClick={() => edit({ rules: rules.filter((_, place) => place !== index) })}
            >
              {t.value.remove}
            </button>
          </span>
        </fieldset>
      ))}
      <label class="check">
        <input
          type="checkbox"
          checked={draft.keep_starred}
          onChange={event => edit({ keep_starred: event.currentTarget.checked })}
        />
        {t.value.keepStarred}
      </label>
      <p class="problem" role="alert">
        {problem}
      </p>
      <div class="inline">
        {rules.length < MAX_RULES && (
          <button
            type="button"
            onClick={() => edit({ rules: [...rules, { data: 'conversations', folder_id: null, days: 365 }] })}
          >
            {t.value.addRule}
          </button>
        )}
        <button type="submit" class={preview ? '' : 'primary'}>
          {t.value.previewRules}
        </button>
        {preview && (
          <button
            type="button"
            class="primary"
            onClick={() =>
              void ask(async () => {
                set(await api<Retention>('PUT', PATH, draft));
                say(t.value.saved);
              })
            }
          >
            {t.value.saveRules}
          </button>
        )}
      </div>
      {preview && <Preview preview={preview} />}
    </form>
  );
}

function RuleFields({
  rule: { data, folder_id, days },
  folders,
  edit,
}: {
  rule: Rule;
  folders: readonly Folder[];
  edit(changes: Partial<Rule>): void;
}) {
  return (
    <>
      <label>
        {t.value.retentionWhat}
        <select
          value={data}
          onChange={event => {
            const kind = KINDS.find(each => each === event.currentTarget.value) ?? 'conversations';
            edit({ data: kind, ...(FILED.has(kind) ? {} : { folder_id: null }) });
          }}
        >
          {KINDS.map(kind => (
            <option key={kind} value={kind}>
              {t.value.retentionKinds[kind]}
            </option>
          ))}
        </select>
      </label>
      {FILED.has(data) && (
        <label>
          {t.value.folder}
          <select
            value={folder_id ?? ''}
            onChange={event => edit({ folder_id: event.currentTarget.value || null })}
          >
            <option value="">{t.value.allOtherFolders}</option>
            {folders.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        {t.value.retentionDays}
        <input
          type="number"
          min={1}
          max={MAX_DAYS}
          step={1}
          value={days ?? ''}
          onInput={event => {
            const given = event.currentTarget.value;
            edit({ days: given === '' ? null : Number(given) });
          }}
        />
      </label>
    </>
  );
}

function Preview({
  preview: { conversations, photos, audio_files, deliveries, oldest },
}: {
  preview: RetentionPreview;
}) {
  const counts = { conversations, photos, audio: audio_files, deliveries };
  const isNothing = Object.values(counts).every(count => count === 0);
  return (
    <div role="status">
      <p>{isNothing ? t.value.previewNothing : t.value.previewAbout}</p>
      {!isNothing && (
        <ul class="preview">
          {KINDS.filter(kind => counts[kind] > 0).map(kind => (
            <li key={kind}>{`${t.value.retentionKinds[kind]}: ${counts[kind]}`}</li>
          ))}
          {oldest.map(({ id, title, started_at }) => (
            <li key={id}>
              <a href={`/conversations/${id}`}>{title || t.value.untitled}</a>{' '}
              <span class="faint">{started_at && dateTime(started_at)}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
