import { useState } from 'preact/hooks';
import { Empty, Icon, later, Page, Show, sayError, useLoaded } from '../components.tsx';
import type { Place } from '../data.ts';
import { TextDialog } from '../editing.tsx';
import { placeName, pointOf, shortDate } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';
import { listPath } from './conversations.tsx';

const PATH = '/v1/places';
const MAX_NAME = 100;

export function Places() {
  const places = useLoaded('places', () => api<Place[]>('GET', PATH), ['conversation']);
  return (
    <Page title={t.value.places}>
      <p class="hint">{t.value.placesText}</p>
      <NewPlace onDone={places.reload} />
      <Show loaded={places}>
        {found =>
          found.length === 0 ? (
            <Empty icon="places" title={t.value.noPlaces} text={t.value.noPlacesText} />
          ) : (
            <div class="card list">
              {found.map(place => (
                <PlaceRow key={place.id ?? pointOf(place)} place={place} reload={places.reload} />
              ))}
            </div>
          )
        }
      </Show>
    </Page>
  );
}

/** A point as maps copy it: latitude, longitude. */
const POINT = String.raw`\s*[+\-]?\d{1,2}(\.\d+)?\s*,\s*[+\-]?\d{1,3}(\.\d+)?\s*`;

function NewPlace({ onDone }: { onDone: () => void }) {
  const [name, setName] = useState('');
  const [point, setPoint] = useState('');
  async function add(event: SubmitEvent) {
    event.preventDefault();
    const [latitude, longitude] = point.split(',').map(Number);
    try {
      await api('POST', PATH, { name, latitude, longitude });
      setName('');
      setPoint('');
      onDone();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <form class="inline add" onSubmit={add}>
      <input
        value={name}
        required
        maxLength={MAX_NAME}
        placeholder={t.value.newPlace}
        aria-label={t.value.newPlace}
        onInput={event => setName(event.currentTarget.value)}
      />
      <input
        value={point}
        required
        pattern={POINT}
        title={t.value.pointHint}
        placeholder={t.value.point}
        aria-label={t.value.point}
        onInput={event => setPoint(event.currentTarget.value)}
      />
      <button type="submit" class="primary">
        {t.value.add}
      </button>
    </form>
  );
}

function PlaceRow({ place, reload }: { place: Place; reload: () => void }) {
  const [isEditing, setEditing] = useState(false);
  const [isGone, setGone] = useState(false);
  const { id, name, address, latitude, longitude, conversation_count: count, last_at } = place;
  const shown = placeName(place);
  if (isGone) return null;
  async function save(text: string, seen: string) {
    if (id === null) await api('POST', PATH, { name: text, latitude, longitude });
    else await api('PATCH', `${PATH}/${id}`, { name: text, expected: { name: seen } });
    reload();
  }
  return (
    <div class="row">
      <span class="row-body">
        <strong class="as-is">{shown}</strong>
        <span class="row-meta">
          {name !== null && address !== null && <span>{address}</span>}
          {count > 0 ? (
            <a href={listPath({ place: pointOf(place) })}>{t.value.conversationsThere(count)}</a>
          ) : (
            <span>{t.value.conversationsThere(0)}</span>
          )}
          {last_at !== null && <span>{t.value.lastThere(shortDate(last_at))}</span>}
          <a href={mapOf(place)} target="_blank" rel="noreferrer">
            {t.value.onMap}
          </a>
        </span>
      </span>
      <button
        type="button"
        class="quiet icon-button"
        aria-label={`${id === null ? t.value.nameIt : t.value.edit}: ${shown}`}
        onClick={() => setEditing(true)}
      >
        <Icon name="edit" />
      </button>
      {id !== null && (
        <button
          type="button"
          class="quiet icon-button danger"
          aria-label={`${t.value.remove}: ${shown}`}
          onClick={() => {
            setGone(true);
            later(
              t.value.deleted,
              () => api('DELETE', `${PATH}/${id}`, undefined, { keepalive: true }).then(reload),
              () => setGone(false),
            );
          }}
        >
          <Icon name="trash" />
        </button>
      )}
      {isEditing && (
        <TextDialog
          title={id === null ? t.value.nameIt : t.value.edit}
          label={t.value.name}
          value={name ?? ''}
          max={MAX_NAME}
          onClose={() => setEditing(false)}
          onSave={save}
        />
      )}
    </div>
  );
}

function mapOf({ latitude, longitude }: Place): string {
  return `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=17/${latitude}/${longitude}`;
}
