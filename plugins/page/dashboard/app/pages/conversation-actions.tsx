/** Actions on a whole conversation, apart from corrections. */
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Dialog, Icon, Show, say, sayError, useLoaded } from '../components.tsx';
import type { Conversation, Folder, Mark, Place, Template } from '../data.ts';
import { download, FORMATS, type Format } from '../export.ts';
import { dateTime, placeName } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';

interface Given {
  found: Conversation;
  set(found: Conversation): void;
  reload(): void;
}

type Open = 'summarise' | 'merge' | 'folder' | 'place';

/** Closes the menu that contains a button. */
function closeMenu(button: HTMLElement): void {
  button.closest('details')?.removeAttribute('open');
}

export function ExportMenu({
  found,
  marked,
  onPrint,
}: {
  found: Conversation;
  /** By the id of their segment. */
  marked: ReadonlyMap<string, Mark[]>;
  onPrint: () => void;
}) {
  return (
    <details class="menu-button">
      <summary class="quiet icon-button" aria-label={t.value.export}>
        <Icon name="download" />
      </summary>
      <div class="popup">
        {Object.entries(FORMATS).map(([format, { label }]) => (
          <button
            key={format}
            type="button"
            class="quiet"
            onClick={event => {
              download(found, format as Format, marked); // a key of FORMATS
              closeMenu(event.currentTarget);
            }}
          >
            {label}
          </button>
        ))}
        <button
          type="button"
          class="quiet"
          onClick={event => {
            closeMenu(event.currentTarget);
            onPrint();
          }}
        >
          {t.value.print}
        </button>
      </div>
    </details>
  );
}

export function MoreMenu(given: Given) {
  const [open, setOpen] = useState<Open | null>(null);
  const items: [Open, string][] = [
    ['summarise', t.value.summariseAgain],
    ['merge', t.value.mergeWith],
    ['folder', t.value.moveTo],
    ['place', t.value.place],
  ];
  const close = () => setOpen(null);
  return (
    <>
      <details class="menu-button">
        <summary class="quiet icon-button" aria-label={t.value.moreActions}>
          <Icon name="more" />
        </summary>
        <div class="popup">
          {items.map(([which, label]) => (
            <button
              key={which}
              type="button"
              class="quiet"
              onClick={event => {
                closeMenu(event.currentTarget);
                setOpen(which);
              }}
            >
              {label}
            </button>
          ))}
        </div>
      </details>
      {open === 'summarise' && <SummariseDialog {...given} onClose={close} />}
      {open === 'merge' && <MergeDialog {...given} onClose={close} />}
      {open === 'folder' && <FolderDialog {...given} onClose={close} />}
      {open === 'place' && <PlaceDialog {...given} onClose={close} />}
    </>
  );
}

type DialogGiven = Given & { onClose: () => void };

function SummariseDialog({ found, reload, onClose }: DialogGiven) {
  const templates = useLoaded('templates', () => api<Template[]>('GET', '/v1/summary-templates'));
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const chosen = String(new FormData(event.currentTarget as HTMLFormElement).get('template'));
    const body = { template_id: chosen === '' ? null : chosen };
    try {
      await api('POST', `/v1/conversations/${found.id}/reprocess`, body);
      say(t.value.summarising);
      onClose();
      reload();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <Dialog title={t.value.summariseAgain} onClose={onClose}>
      <form onSubmit={submit}>
        <p class="hint">{t.value.summariseHint}</p>
        <Show loaded={templates}>
          {all => (
            <label>
              {t.value.template}
              <select name="template">
                <option value="">{t.value.byCategory}</option>
                {all.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          )}
        </Show>
        <button type="submit" class="primary">
          {t.value.summariseAgain}
        </button>
      </form>
    </Dialog>
  );
}

const CANDIDATES = 20;
const TYPING_MS = 250;

function MergeDialog({ found, set, onClose }: DialogGiven) {
  const [typed, setTyped] = useState('');
  const [query, setQuery] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setQuery(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const others = useLoaded(query, () => {
    const parameters = new URLSearchParams({ limit: String(CANDIDATES), ...(query && { query }) });
    return api<Conversation[]>('GET', `/v1/dev/user/conversations/search?${parameters}`);
  });
  async function merge(other: string) {
    try {
      set(await api<Conversation>('POST', `/v1/conversations/${found.id}/merge`, { with: other }));
      say(t.value.merged);
      onClose();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <Dialog title={t.value.mergeWith} onClose={onClose}>
      <p class="hint">{t.value.mergeHint}</p>
      <input
        type="search"
        value={typed}
        placeholder={t.value.searchConversations}
        aria-label={t.value.searchConversations}
        onInput={event => setTyped(event.currentTarget.value)}
      />
      <Show loaded={others}>
        {all => (
          <ul class="choices stacked">
            {all
              .filter(({ id }) => id !== found.id)
              .map(({ id, structured, started_at, created_at }) => (
                <li key={id}>
                  <button type="button" onClick={() => merge(id)}>
                    {structured.title || t.value.untitled}
                    <span class="faint">{dateTime(started_at ?? created_at)}</span>
                  </button>
                </li>
              ))}
          </ul>
        )}
      </Show>
    </Dialog>
  );
}

function FolderDialog({ found, set, onClose }: DialogGiven) {
  const folders = useLoaded('folders', () => api<Folder[]>('GET', '/v1/dev/user/folders'));
  async function move(folder: string | null) {
    try {
      const edited = await api<Conversation>('PATCH', `/v1/dev/user/conversations/${found.id}`, {
        folder_id: folder,
      });
      set({ ...edited, transcript_segments: found.transcript_segments ?? [] });
      onClose();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <Dialog title={t.value.moveTo} onClose={onClose}>
      <Show loaded={folders}>
        {all => (
          <div class="choices">
            {all.map(({ id, name, icon }) => (
              <button key={id} type="button" aria-pressed={id === found.folder_id} onClick={() => move(id)}>
                {`${icon} ${name}`}
              </button>
            ))}
            <button type="button" class="quiet" onClick={() => move(null)}>
              {t.value.noFolder}
            </button>
          </div>
        )}
      </Show>
    </Dialog>
  );
}

function PlaceDialog({ found, set, onClose }: DialogGiven) {
  const places = useLoaded('places', () => api<Place[]>('GET', '/v1/places'));
  async function choose(geolocation: Pick<Place, 'latitude' | 'longitude' | 'address'> | null) {
    try {
      const path = `/v1/dev/user/conversations/${found.id}`;
      const edited = await api<Conversation>('PATCH', path, { geolocation });
      set({ ...edited, transcript_segments: found.transcript_segments ?? [] });
      onClose();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <Dialog title={t.value.place} onClose={onClose}>
      <Show loaded={places}>
        {all => (
          <>
            <p class="hint">
              {t.value.choosePlace} <a href="/places">{t.value.places}</a>
            </p>
            <div class="choices">
              {all.map(({ id, name, address, latitude, longitude }) => (
                <button
                  key={id ?? `${latitude},${longitude}`}
                  type="button"
                  onClick={() => choose({ latitude, longitude, address })}
                >
                  {placeName({ name, address, latitude, longitude })}
                </button>
              ))}
              <button type="button" class="quiet" onClick={() => choose(null)}>
                {t.value.noPlace}
              </button>
            </div>
          </>
        )}
      </Show>
    </Dialog>
  );
}

/** Splits the conversation at this segment and shows the new conversation. */
export function useSplit(id: string): (segmentId: string) => void {
  const { route } = useLocation();
  return segmentId =>
    void api<Conversation>('POST', `/v1/conversations/${id}/split`, { segment_id: segmentId }).then(part => {
      say(t.value.splitDone);
      route(`/conversations/${part.id}`);
    }, sayError);
}
