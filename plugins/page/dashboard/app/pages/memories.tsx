import { useEffect, useState } from 'preact/hooks';
import { Empty, Icon, later, Page, Show, sayError, useLoaded } from '../components.tsx';
import type { Memory } from '../data.ts';
import { TextDialog } from '../editing.tsx';
import { shortDate } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/dev/user/memories';
const MOST = 200;
const TYPING_MS = 250;

type Shown = Pick<Memory, 'id' | 'content' | 'category'> & { created_at?: string };

export function Memories() {
  const [typed, setTyped] = useState('');
  const [query, setQuery] = useState('');
  const [content, setContent] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setQuery(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const memories = useLoaded<Shown[]>(query, async () => {
    if (query === '') return api<Memory[]>('GET', `${PATH}?limit=${MOST}`);
    const parameters = new URLSearchParams({ query, limit: '50' });
    return (await api<{ items: Shown[] }>('GET', `${PATH}/vector/search?${parameters}`)).items;
  }, ['memory']);
  async function add(event: SubmitEvent) {
    event.preventDefault();
    try {
      await api('POST', PATH, { content });
      setContent('');
      memories.reload();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <Page title={t.value.memories}>
      <form class="inline add" onSubmit={add}>
        <input
          value={content}
          required
          maxLength={500}
          placeholder={t.value.addMemory}
          aria-label={t.value.addMemory}
          onInput={event => setContent(event.currentTarget.value)}
        />
        <button type="submit" class="primary">
          {t.value.add}
        </button>
      </form>
      <search class="filters">
        <input
          type="search"
          value={typed}
          placeholder={t.value.searchMemories}
          aria-label={t.value.searchMemories}
          onInput={event => setTyped(event.currentTarget.value)}
        />
      </search>
      <Show loaded={memories}>
        {found =>
          found.length === 0 ? (
            <Empty
              icon="memories"
              title={query === '' ? t.value.noMemories : t.value.nothingFound}
              text={query === '' ? t.value.noMemoriesText : t.value.nothingFoundText}
            />
          ) : (
            <div class="card list">
              {found.map(memory => (
                <MemoryRow key={memory.id} memory={memory} reload={memories.reload} />
              ))}
            </div>
          )
        }
      </Show>
    </Page>
  );
}

function MemoryRow({ memory, reload }: { memory: Shown; reload: () => void }) {
  const [isEditing, setEditing] = useState(false);
  const [isGone, setGone] = useState(false);
  const path = `${PATH}/${memory.id}`;
  if (isGone) return null;
  return (
    <div class="row">
      <span class="row-body">
        <span>{memory.content}</span>
        <span class="row-meta">
          {[memory.category, memory.created_at && shortDate(memory.created_at)].filter(Boolean).join(' · ')}
        </span>
      </span>
      <button
        type="button"
        class="quiet icon-button"
        aria-label={`${t.value.edit}: ${memory.content}`}
        onClick={() => setEditing(true)}
      >
        <Icon name="edit" />
      </button>
      <button
        type="button"
        class="quiet icon-button danger"
        aria-label={`${t.value.remove}: ${memory.content}`}
        onClick={() => {
          setGone(true);
          later(
            t.value.deleted,
            () => void api('DELETE', path, undefined, { keepalive: true }).catch(sayError),
            () => setGone(false),
          );
        }}
      >
        <Icon name="trash" />
      </button>
      {isEditing && (
        <TextDialog
          title={t.value.edit}
          label={t.value.memoryAbout}
          value={memory.content}
          max={500}
          onClose={() => setEditing(false)}
          onSave={async content => {
            await api('PATCH', path, { content });
            reload();
          }}
        />
      )}
    </div>
  );
}
