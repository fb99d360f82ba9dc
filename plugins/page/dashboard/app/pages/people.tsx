import { useState } from 'preact/hooks';
import { Dialog, Empty, Icon, later, Page, Show, say, sayError, useLoaded } from '../components.tsx';
import type { Person } from '../data.ts';
import { TextDialog } from '../editing.tsx';
import { shortDate } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';
import { Assignments, OwnVoice } from './own-voice.tsx';
import { VoiceSamples } from './voice-samples.tsx';

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
                <PersonRow key={person.id} person={person} all={found} reload={people.reload} />
              ))}
            </div>
          )
        }
      </Show>
      <Assignments people={people.value ?? []} />
      <OwnVoice />
    </Page>
  );
}

interface RowGiven {
  person: Person;
  all: readonly Person[];
  reload: () => void;
}

function PersonRow({ person, all, reload }: RowGiven) {
  const [isEditing, setEditing] = useState(false);
  const [isOpen, setOpen] = useState(false);
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
        aria-label={`${t.value.details}: ${person.name}`}
        onClick={() => setOpen(true)}
      >
        <Icon name="more" />
      </button>
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
            () => api('DELETE', path, undefined, { keepalive: true }),
            () => setGone(false),
          );
        }}
      >
        <Icon name="trash" />
      </button>
      {isOpen && <PersonDialog person={person} all={all} reload={reload} onClose={() => setOpen(false)} />}
      {isEditing && (
        <TextDialog
          title={t.value.edit}
          label={t.value.name}
          value={person.name}
          max={MAX_NAME}
          onClose={() => setEditing(false)}
          onSave={async (name, seen) => {
            await api('PATCH', path, { name, expected: { name: seen } });
            reload();
          }}
        />
      )}
    </div>
  );
}

/** Voice samples of a person, and suggestions of people who may be the same. */
function PersonDialog({ person, all, reload, onClose }: RowGiven & { onClose: () => void }) {
  const path = `${PATH}/${person.id}`;
  const others = all.filter(({ id }) => id !== person.id);
  async function merge(event: SubmitEvent) {
    event.preventDefault();
    const other = new FormData(event.currentTarget as HTMLFormElement).get('other');
    try {
      await api('POST', `${path}/merge`, { other_person_id: other });
      say(t.value.merged);
      onClose();
      reload();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <Dialog title={person.name} onClose={onClose}>
      <VoiceSamples person={person} />
      {others.length > 0 && (
        <form onSubmit={merge}>
          <label>
            {t.value.samePerson(person.name)}
            <select name="other">
              {others.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <button type="submit">{t.value.mergePeople}</button>
        </form>
      )}
    </Dialog>
  );
}
