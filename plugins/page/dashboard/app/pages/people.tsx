import { useState } from 'preact/hooks';
import { Empty, Icon, later, Page, Show, sayError, useLoaded } from '../components.tsx';
import type { Person } from '../data.ts';
import { TextDialog } from '../editing.tsx';
import { shortDate } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/people';
const MAX_NAME = 200;

export function People() {
  const people = useLoaded('people', () => api<Person[]>('GET', PATH));
  const [name, setName] = useState('');
  async function add(event: SubmitEvent) {
    event.preventDefault();
    try {
      await api('POST', PATH, { name });
      setName('');
      people.reload();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <Page title={t.value.people}>
      <p class="hint">{t.value.peopleText}</p>
      <form class="inline add" onSubmit={add}>
        <input
          value={name}
          required
          maxLength={MAX_NAME}
          placeholder={t.value.newPerson}
          aria-label={t.value.newPerson}
          onInput={event => setName(event.currentTarget.value)}
        />
        <button type="submit" class="primary">
          {t.value.add}
        </button>
      </form>
      <Show loaded={people}>
        {found =>
          found.length === 0 ? (
            <Empty icon="people" title={t.value.noPeople} text={t.value.noPeopleText} />
          ) : (
            <div class="card list">
              {found.map(person => (
                <PersonRow key={person.id} person={person} reload={people.reload} />
              ))}
            </div>
          )
        }
      </Show>
    </Page>
  );
}

function PersonRow({ person, reload }: { person: Person; reload: () => void }) {
  const [isEditing, setEditing] = useState(false);
  const [isGone, setGone] = useState(false);
  const path = `${PATH}/${person.id}`;
  if (isGone) return null;
  return (
    <div class="row">
      <span class="row-body">
        <strong>{person.name}</strong>
        <span class="row-meta">{t.value.knownSince(shortDate(person.created_at))}</span>
      </span>
      <button
        type="button"
        class="quiet icon-button"
        aria-label={`${t.value.edit}: ${person.name}`}
        onClick={() => setEditing(true)}
      >
        <Icon name="edit" />
      </button>
      <button
        type="button"
        class="quiet icon-button danger"
        aria-label={`${t.value.remove}: ${person.name}`}
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
          label={t.value.name}
          value={person.name}
          max={MAX_NAME}
          onClose={() => setEditing(false)}
          onSave={async name => {
            await api('PATCH', path, { name });
            reload();
          }}
        />
      )}
    </div>
  );
}
