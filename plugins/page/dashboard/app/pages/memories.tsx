import { useEffect, useState } from 'preact/hooks';
import { Dialog, Empty, Icon, later, Page, Show, sayError, useLoaded } from '../components.tsx';
import type { Memory, MemoryVersion } from '../data.ts';
import { TextDialog } from '../editing.tsx';
import { categoryName, dateTime, lineAddress, shortDate } from '../format.ts';
import { type BulkAction, SelectButton, type Selection, SelectionBar, useSelection } from '../selection.tsx';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/dev/user/memories';
const MOST = 200;
const TYPING_MS = 250;

/** A memory as the list shows it; search results lack some fields. */
type Shown = Pick<Memory, 'id' | 'content' | 'category'> & Partial<Pick<Memory, 'created_at' | 'said_in'>>;

export function Memories() {
  const [typed, setTyped] = useState('');
  const [query, setQuery] = useState('');
  const [content, setContent] = useState('');
  const [isReview, setReview] = useState(false);
  const selection = useSelection();
  useEffect(() => {
    const timer = setTimeout(() => setQuery(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const memories = useLoaded<Shown[]>(`${isReview} ${query}`, async () => {
    if (isReview) return api<Memory[]>('GET', `${PATH}?limit=${MOST}&reviewed=false`);
    if (query === '') return api<Memory[]>('GET', `${PATH}?limit=${MOST}`);
    const parameters = new URLSearchParams({ query, limit: '50' });
    return (await api<{ items: Shown[] }>('GET', `${PATH}/vector/search?${parameters}`)).items;
  }, ['memory']);
  const isSelectable = (memories.value?.length ?? 0) > 0;
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
  const remove: BulkAction = {
    label: t.value.remove,
    isDanger: true,
    run: id => api('DELETE', `${PATH}/${id}`),
  };
  return (
    <Page title={t.value.memories} actions={isSelectable && <SelectButton selection={selection} />}>
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
      <div class="list-head">
        <fieldset class="tabs">
          <legend class="hidden">{t.value.memories}</legend>
          {[false, true].map(value => (
            <button
              key={String(value)}
              type="button"
              aria-pressed={value === isReview}
              onClick={() => {
                setReview(value);
                selection.end();
              }}
            >
              {value ? t.value.toReview : t.value.all}
            </button>
          ))}
        </fieldset>
        {isSelectable && (
          <SelectionBar
            selection={selection}
            all={memories.value?.map(({ id }) => id) ?? []}
            actions={isReview ? [{ label: t.value.accept, run: id => review(id, true) }, remove] : [remove]}
            onDone={memories.reload}
          />
        )}
      </div>
      {isReview ? (
        <p class="hint">{t.value.reviewText}</p>
      ) : (
        <search class="filters">
          <input
            type="search"
            value={typed}
            placeholder={t.value.searchMemories}
            aria-label={t.value.searchMemories}
            onInput={event => setTyped(event.currentTarget.value)}
          />
        </search>
      )}
      <Show loaded={memories}>
        {found =>
          found.length === 0 ? (
            <Nothing isReview={isReview} query={query} />
          ) : (
            <div class="card list">
              {found.map(memory => (
                <MemoryRow
                  key={memory.id}
                  memory={memory}
                  isReview={isReview}
                  selection={selection}
                  reload={memories.reload}
                />
              ))}
            </div>
          )
        }
      </Show>
    </Page>
  );
}

function review(id: string, accept: boolean): Promise<unknown> {
  return api('POST', `/v1/memories/${id}/review`, { accept });
}

function Nothing({ isReview, query }: { isReview: boolean; query: string }) {
  if (isReview)
    return <Empty icon="memories" title={t.value.nothingToReview} text={t.value.nothingToReviewText} />;
  return (
    <Empty
      icon="memories"
      title={query === '' ? t.value.noMemories : t.value.nothingFound}
      text={query === '' ? t.value.noMemoriesText : t.value.nothingFoundText}
    />
  );
}

interface RowGiven {
  memory: Shown;
  isReview: boolean;
  selection: Selection;
  reload: () => void;
}

function MemoryRow({ memory, isReview, selection, reload }: RowGiven) {
  const [isGone, setGone] = useState(false);
  if (isGone) return null;
  const { id, content, category } = memory;
  const removal = (work: () => Promise<unknown>) => {
    setGone(true);
    later(t.value.deleted, work, () => setGone(false));
  };
  return (
    <div class="row">
      {selection.ids && (
        <input
          type="checkbox"
          checked={selection.ids.has(id)}
          aria-label={`${t.value.select}: ${content}`}
          onChange={() => selection.toggle(id)}
        />
      )}
      <span class="row-body">
        <span>{content}</span>
        <span class="row-meta">
          {[categoryName(category), memory.created_at && shortDate(memory.created_at)]
            .filter(Boolean)
            .join(' · ')}
          {memory.said_in && (
            <a href={lineAddress(memory.said_in.conversation_id, memory.said_in.segment_id)}>
              {t.value.saidHere}
            </a>
          )}
        </span>
      </span>
      {!selection.ids &&
        (isReview ? (
          <>
            <button
              type="button"
              aria-label={`${t.value.accept}: ${content}`}
              onClick={() => review(id, true).then(reload, sayError)}
            >
              {t.value.accept}
            </button>
            <button
              type="button"
              class="quiet"
              aria-label={`${t.value.reject}: ${content}`}
              onClick={() => removal(() => review(id, false))}
            >
              {t.value.reject}
            </button>
          </>
        ) : (
          <MemoryButtons
            memory={memory}
            reload={reload}
            onRemove={() => removal(() => api('DELETE', `${PATH}/${id}`, undefined, { keepalive: true }))}
          />
        ))}
    </div>
  );
}

function MemoryButtons({
  memory: { id, content },
  reload,
  onRemove,
}: {
  memory: Shown;
  reload: () => void;
  onRemove: () => void;
}) {
  const [open, setOpen] = useState<'edit' | 'history' | null>(null);
  return (
    <>
      <button
        type="button"
        class="quiet icon-button"
        aria-label={`${t.value.history}: ${content}`}
        onClick={() => setOpen('history')}
      >
        <Icon name="history" />
      </button>
      <button
        type="button"
        class="quiet icon-button"
        aria-label={`${t.value.edit}: ${content}`}
        onClick={() => setOpen('edit')}
      >
        <Icon name="edit" />
      </button>
      <button
        type="button"
        class="quiet icon-button danger"
        aria-label={`${t.value.remove}: ${content}`}
        onClick={onRemove}
      >
        <Icon name="trash" />
      </button>
      {open === 'edit' && (
        <TextDialog
          title={t.value.edit}
          label={t.value.memoryAbout}
          value={content}
          max={500}
          onClose={() => setOpen(null)}
          onSave={async (text, seen) => {
            await api('PATCH', `${PATH}/${id}`, { content: text, expected: { content: seen } });
            reload();
          }}
        />
      )}
      {open === 'history' && <HistoryDialog id={id} reload={reload} onClose={() => setOpen(null)} />}
    </>
  );
}

function HistoryDialog({ id, reload, onClose }: { id: string; reload: () => void; onClose: () => void }) {
  const versions = useLoaded(id, () => api<MemoryVersion[]>('GET', `/v1/memories/${id}/history`));
  async function restore(version: string) {
    try {
      await api('POST', `/v1/memories/${id}/undo`, { version });
      onClose();
      reload();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <Dialog title={t.value.history} onClose={onClose}>
      <Show loaded={versions}>
        {all => (
          <ol class="versions">
            {all.map(version => (
              <li key={version.id}>
                <p>{version.content}</p>
                <p class="faint">{version.id === null ? t.value.atPresent : dateTime(version.as_of)}</p>
                {version.sources.map(source => (
                  <a
                    key={source.conversation_id}
                    href={`/conversations/${source.conversation_id}?segment=${source.segment_ids[0] ?? ''}`}
                  >
                    {`${t.value.saidHere}, ${dateTime(source.said_at)}`}
                  </a>
                ))}
                {version.id !== null && (
                  <button type="button" onClick={() => restore(version.id ?? '')}>
                    {t.value.restore}
                  </button>
                )}
              </li>
            ))}
          </ol>
        )}
      </Show>
    </Dialog>
  );
}
