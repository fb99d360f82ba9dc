import { useEffect, useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import {
  Dialog,
  Icon,
  later,
  Page,
  Show,
  say,
  sayError,
  speakerClass,
  useLoaded,
  VirtualList,
} from '../components.tsx';
import type { Conversation as Found, Person, Segment, Task } from '../data.ts';
import { Conflict, currentOf, TextDialog } from '../editing.tsx';
import { dateTime, minutes, position } from '../format.ts';
import { api, read } from '../session.ts';
import { t } from '../texts.ts';
import { ExportMenu, MoreMenu, useSplit } from './conversation-actions.tsx';
import { Photos } from './photos.tsx';
import { TaskRow } from './tasks.tsx';

export function Conversation() {
  const { params } = useRoute();
  const id = params.id ?? '';
  const loaded = useLoaded(
    id,
    () => read<Found>(`/v1/dev/user/conversations/${encodeURIComponent(id)}?include_transcript=true`),
    ['conversation', 'segments'],
  );
  if (loaded.value === null)
    return (
      <Page title={loaded.error ? t.value.notFound : t.value.conversations}>
        <Show loaded={loaded}>{() => null}</Show>
      </Page>
    );
  return (
    <Show loaded={loaded}>{found => <Whole found={found} set={loaded.set} reload={loaded.reload} />}</Show>
  );
}

interface Shown {
  found: Found;
  set(found: Found): void;
  reload(): void;
}

function Whole({ found, set, reload }: Shown) {
  const { route } = useLocation();
  const [isEditing, setEditing] = useState(false);
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    if (!isPrinting) return;
    window.print(); // returns when the dialog is closed
    setPrinting(false);
  }, [isPrinting]);
  const { id, structured, starred, started_at, created_at, finished_at, status } = found;
  const from = started_at ?? created_at;
  const path = `/v1/dev/user/conversations/${id}`;

  async function change(changes: object): Promise<void> {
    try {
      const edited = await api<Found>('PATCH', path, changes);
      set({ ...edited, transcript_segments: found.transcript_segments ?? [] });
    } catch (error) {
      sayError(error);
      reload();
    }
  }

  function remove(): void {
    route('/conversations');
    later(
      t.value.conversationDeleted,
      () => void api('DELETE', path, undefined, { keepalive: true }).catch(sayError),
      () => route(`/conversations/${id}`),
    );
  }

  const seconds = finished_at ? (Date.parse(finished_at) - Date.parse(from)) / 1000 : 0;
  const meta = [
    dateTime(from),
    seconds > 0 ? minutes(seconds) : '',
    structured.category !== 'other' ? structured.category : '',
    found.folder_name ?? '',
    found.source ?? '',
  ];
  const title = structured.title || t.value.untitled;
  return (
    <Page
      title={title}
      actions={
        <div class="actions">
          <button
            type="button"
            class="quiet icon-button"
            aria-pressed={starred}
            aria-label={starred ? t.value.unstar : t.value.star}
            onClick={() => change({ starred: !starred })}
          >
            <Icon name="star" filled={starred} />
          </button>
          <button
            type="button"
            class="quiet icon-button"
            aria-label={t.value.editTitle}
            onClick={() => setEditing(true)}
          >
            <Icon name="edit" />
          </button>
          <ExportMenu found={found} onPrint={() => setPrinting(true)} />
          <MoreMenu found={found} set={set} reload={reload} />
          <button
            type="button"
            class="quiet icon-button danger"
            aria-label={t.value.deleteConversation}
            onClick={remove}
          >
            <Icon name="trash" />
          </button>
        </div>
      }
    >
      <p class="meta">{meta.filter(Boolean).join(' · ')}</p>
      {status !== 'completed' && (
        <p class="status">
          {
            {
              in_progress: t.value.inProgress,
              processing: t.value.processing,
              failed: t.value.failedStatus,
            }[status]
          }
        </p>
      )}
      {structured.overview !== '' && <p class="overview">{structured.overview}</p>}
      <Tasks id={id} />
      <Events found={found} />
      <Photos id={id} />
      <h2 class="section">{t.value.transcript}</h2>
      {isPrinting ? <Printed found={found} /> : <Transcript found={found} reload={reload} />}
      {isEditing && (
        <TextDialog
          title={t.value.editTitle}
          label={t.value.title}
          value={structured.title}
          max={500}
          onClose={() => setEditing(false)}
          onSave={async (title, seen) => {
            const edited = await api<Found>('PATCH', path, { title, expected: { title: seen } });
            set({ ...edited, transcript_segments: found.transcript_segments ?? [] });
          }}
        />
      )}
    </Page>
  );
}

function Tasks({ id }: { id: string }) {
  const tasks = useLoaded(
    id,
    () => api<Task[]>('GET', `/v1/dev/user/action-items?conversation_id=${encodeURIComponent(id)}`),
    ['action_item', 'conversation'],
  );
  if (!tasks.value?.length) return null;
  return (
    <section>
      <h2 class="section">{t.value.tasks}</h2>
      <div class="card list">
        {tasks.value.map(task => (
          <TaskRow key={task.id} task={task} reload={tasks.reload} isLinked={false} />
        ))}
      </div>
    </section>
  );
}

function Events({ found }: { found: Found }) {
  const { events } = found.structured;
  if (events.length === 0) return null;
  return (
    <section>
      <h2 class="section">{t.value.events}</h2>
      <ul class="card plain">
        {events.map(event => (
          <li key={`${event.start} ${event.title}`}>
            <strong>{event.title}</strong>
            <span class="faint">{`${dateTime(event.start)} · ${minutes(event.duration * 60)}`}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The whole transcript: the list on the screen has only what is in sight. */
function Printed({ found }: { found: Found }) {
  return (
    <>
      {found.transcript_segments?.map(({ id, speaker_name, start, text }) => (
        <p key={id}>
          <strong>{speaker_name}</strong> {position(start)}
          <br />
          {text}
        </p>
      ))}
    </>
  );
}

function Transcript({ found, reload }: Pick<Shown, 'found' | 'reload'>) {
  const segments = found.transcript_segments ?? [];
  const { query } = useLocation();
  const meant = segments.findIndex(({ id }) => id === query.segment);
  const [editing, setEditing] = useState<Segment | null>(null);
  const [naming, setNaming] = useState<Segment | null>(null);
  const split = useSplit(found.id);
  if (segments.length === 0) return <p class="faint">{t.value.noTranscript}</p>;

  function pathOf({ id }: Segment): string {
    return `/v1/conversations/${found.id}/segments/${id}`;
  }

  return (
    <>
      <VirtualList
        count={segments.length}
        estimate={84}
        show={meant}
        keyOf={index => segments[index]?.id ?? index}
        row={index => {
          const segment = segments[index];
          if (!segment) return null;
          return (
            <article
              class={`segment ${speakerClass(segment)}`}
              {...(index === meant ? { 'aria-current': 'true' as const } : {})}
            >
              <header>
                <button type="button" class="speaker" onClick={() => setNaming(segment)}>
                  {segment.speaker_name}
                </button>
                <time>{position(segment.start)}</time>
                <button
                  type="button"
                  class="quiet icon-button small"
                  aria-label={`${t.value.editText}: ${position(segment.start)}`}
                  onClick={() => setEditing(segment)}
                >
                  <Icon name="edit" />
                </button>
                {index > 0 && found.status !== 'in_progress' && (
                  <button
                    type="button"
                    class="quiet icon-button small"
                    aria-label={`${t.value.splitHere}: ${position(segment.start)}`}
                    title={t.value.splitHere}
                    onClick={() => split(segment.id)}
                  >
                    <Icon name="split" />
                  </button>
                )}
              </header>
              <p>{segment.text}</p>
            </article>
          );
        }}
      />
      {editing && (
        <TextDialog
          title={t.value.editText}
          label={t.value.text}
          value={editing.text}
          max={20_000}
          onClose={() => setEditing(null)}
          onSave={async (text, seen) => {
            await api('PATCH', pathOf(editing), { text, expected: { text: seen } });
            say(t.value.saved);
            reload();
          }}
        />
      )}
      {naming && (
        <SpeakerDialog
          segment={naming}
          onClose={() => setNaming(null)}
          onChoose={async (personId, { isEverywhere, isForced }) => {
            const same = ({ speaker, is_user, person_id }: Segment) =>
              speaker === naming.speaker && is_user === naming.is_user && person_id === naming.person_id;
            const all = isEverywhere ? segments.filter(same) : [naming];
            const expected = { person_id: naming.is_user ? 'user' : naming.person_id };
            const body = { person_id: personId, ...(isForced ? {} : { expected }) };
            try {
              for (const segment of all) await api('PATCH', pathOf(segment), body);
              say(t.value.saved);
            } finally {
              reload();
            }
          }}
        />
      )}
    </>
  );
}

interface Choice {
  /** `user`: the owner; null: nobody that is known. */
  personId: string | null;
  name: string;
}

function SpeakerDialog({
  segment,
  onClose,
  onChoose,
}: {
  segment: Segment;
  onClose: () => void;
  onChoose: (personId: string | null, how: { isEverywhere: boolean; isForced: boolean }) => Promise<void>;
}) {
  const people = useLoaded('people', () => api<Person[]>('GET', '/v1/people'));
  const [isEverywhere, setEverywhere] = useState(true);
  const [name, setName] = useState('');
  const [refused, setRefused] = useState<{ mine: Choice; theirs: string } | null>(null);
  const nameOf = (id: unknown) =>
    id === 'user' ? t.value.me : (people.value?.find(person => person.id === id)?.name ?? t.value.nobody);

  async function choose(choice: Choice, isForced = false) {
    try {
      await onChoose(choice.personId, { isEverywhere, isForced });
      onClose();
    } catch (error) {
      const current = currentOf(error);
      if (current) setRefused({ mine: choice, theirs: nameOf(current.person_id) });
      else sayError(error);
    }
  }
  if (refused)
    return (
      <Dialog title={t.value.whoSpeaks} onClose={onClose}>
        <Conflict
          theirs={refused.theirs}
          mine={refused.mine.name}
          onTheirs={onClose}
          onMine={() => choose(refused.mine, true)}
        />
      </Dialog>
    );
  return (
    <Dialog title={t.value.whoSpeaks} onClose={onClose}>
      <label class="check">
        <input
          type="checkbox"
          checked={isEverywhere}
          onChange={event => setEverywhere(event.currentTarget.checked)}
        />
        {t.value.everywhere(segment.speaker_name)}
      </label>
      <div class="choices">
        <button type="button" onClick={() => choose({ personId: 'user', name: t.value.me })}>
          {t.value.me}
        </button>
        {people.value?.map(person => (
          <button
            key={person.id}
            type="button"
            onClick={() => choose({ personId: person.id, name: person.name })}
          >
            {person.name}
          </button>
        ))}
        <button type="button" class="quiet" onClick={() => choose({ personId: null, name: t.value.nobody })}>
          {t.value.nobody}
        </button>
      </div>
      <form
        class="inline"
        onSubmit={async event => {
          event.preventDefault();
          await api<Person>('POST', '/v1/people', { name }).then(
            ({ id }) => choose({ personId: id, name }),
            sayError,
          );
        }}
      >
        <input
          value={name}
          maxLength={100}
          required
          placeholder={t.value.newPerson}
          aria-label={t.value.newPerson}
          onInput={event => setName(event.currentTarget.value)}
        />
        <button type="submit">{t.value.add}</button>
      </form>
    </Dialog>
  );
}
