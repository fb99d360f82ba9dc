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
  speakerName,
  useLoaded,
  VirtualList,
} from '../components.tsx';
import type { Conversation as Found, KeptAudio, Mark, Person, Place, Segment, Task } from '../data.ts';
import { Conflict, currentOf, TextDialog } from '../editing.tsx';
import {
  categoryName,
  dateTime,
  lineAddress,
  minutes,
  namedPlace,
  placeName,
  position,
  sourceName,
} from '../format.ts';
import { bySegment, loadMarks, MarkButton, MarkedLines } from '../marks.tsx';
import { messageOf } from '../notices.tsx';
import { PlayButton, usePlayback } from '../playback.tsx';
import { ApiError, api, read } from '../session.ts';
import { t } from '../texts.ts';
import { ExportMenu, MoreMenu, useSplit } from './conversation-actions.tsx';
import { lastListPath } from './conversations.tsx';
import { Untranscribed } from './kept-audio.tsx';
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
  const isMissing = loaded.error instanceof ApiError && loaded.error.status === 404;
  if (loaded.value === null)
    return (
      <Page title={isMissing ? t.value.notFound : t.value.conversations}>
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
    window.print(); // returns to the list when the dialog is closed
    setPrinting(false);
  }, [isPrinting]);
  const { id, structured, starred, started_at, created_at, finished_at, status } = found;
  const from = started_at ?? created_at;
  const marks = useLoaded(id, () => loadMarks(id), ['mark', 'conversation']);
  const marked = bySegment(from, found.transcript_segments ?? [], marks.value ?? []);
  const audios = useLoaded(id, () => api<KeptAudio[]>('GET', `/v1/conversations/${id}/audio`), [
    'conversation',
  ]);
  const isAudible = audios.value?.some(({ has_text }) => has_text) ?? false;
  const { geolocation: where } = found;
  const places = useLoaded(String(where !== null), async () =>
    where ? api<Place[]>('GET', '/v1/places') : [],
  );
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
    route(lastListPath());
    later(
      t.value.conversationDeleted,
      () => api('DELETE', path, undefined, { keepalive: true }),
      () => route(`/conversations/${id}`),
      () => {},
    );
  }

  const seconds = finished_at ? (Date.parse(finished_at) - Date.parse(from)) / 1000 : 0;
  const isNamedByFolder = found.folder_name?.toLowerCase() === structured.category;
  const meta = [
    dateTime(from),
    seconds > 0 ? minutes(seconds) : '',
    isNamedByFolder || structured.category === 'other' ? '' : categoryName(structured.category),
    found.folder_name ?? '',
    found.source === null ? '' : sourceName(found.source),
    where && placeName({ ...where, name: namedPlace(places.value ?? [], where)?.name ?? null }),
  ];
  const title = structured.title || t.value.untitled;
  return (
    <Page
      title={title}
      back={{ path: lastListPath(), name: t.value.conversations }}
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
          <ExportMenu found={found} marked={marked} onPrint={() => setPrinting(true)} />
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
      <Speakers segments={found.transcript_segments ?? []} />
      <Tasks id={id} />
      <Events found={found} />
      <Photos id={id} />
      <Untranscribed audios={audios.value ?? []} />
      <MarkedLines conversationId={id} segments={found.transcript_segments ?? []} marked={marked} />
      <h2 class="section">{t.value.transcript}</h2>
      {isPrinting ? (
        <Printed found={found} />
      ) : (
        <Transcript
          found={found}
          marked={marked}
          isAudible={isAudible}
          reload={reload}
          reloadMarks={marks.reload}
        />
      )}
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

/** Known people among the speakers. */
function Speakers({ segments }: { segments: readonly Segment[] }) {
  const known = segments.filter(({ is_user, person_id }) => is_user || person_id !== null);
  const names = new Map(known.map(segment => [speakerName(segment), segment]));
  if (names.size === 0) return null;
  return (
    <ul class="chips" aria-label={t.value.people}>
      {[...names].map(([name, segment]) => (
        <li key={name} class={`chip live who ${speakerClass(segment)}`}>
          {name}
        </li>
      ))}
    </ul>
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
      <ul class="card plain stacked">
        {events.map(event => (
          <li key={`${event.start} ${event.title}`}>
            <strong>{event.title}</strong>
            <span class="row-meta">
              {`${dateTime(event.start)} · ${minutes(event.duration * 60)}`}
              {event.segment_id && <a href={lineAddress(found.id, event.segment_id)}>{t.value.saidHere}</a>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The whole transcript; the list on the screen renders only the visible part. */
function Printed({ found }: { found: Found }) {
  return (
    <>
      {found.transcript_segments?.map(segment => (
        <p key={segment.id}>
          <strong>{speakerName(segment)}</strong> {position(segment.start)}
          <br />
          {segment.text}
        </p>
      ))}
    </>
  );
}

function Transcript({
  found,
  marked,
  isAudible,
  reload,
  reloadMarks,
}: Pick<Shown, 'found' | 'reload'> & {
  marked: ReadonlyMap<string, Mark[]>;
  /** Whether its audio is kept. */
  isAudible: boolean;
  reloadMarks: () => void;
}) {
  const segments = found.transcript_segments ?? [];
  const { query } = useLocation();
  const meant = segments.findIndex(({ id }) => id === query.segment);
  const [editing, setEditing] = useState<Segment | null>(null);
  const [naming, setNaming] = useState<Segment | null>(null);
  const split = useSplit(found.id);
  const startedAt = found.started_at ?? found.created_at;
  const playback = usePlayback(found.id, startedAt);
  const played = playedLine(segments, playback.seconds);
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
              class={`segment ${speakerClass(segment)} ${index === played ? 'played' : ''}`}
              {...(index === meant ? { 'aria-current': 'true' as const } : {})}
            >
              <header>
                <button type="button" class="speaker" onClick={() => setNaming(segment)}>
                  {speakerName(segment)}
                </button>
                <time>{position(segment.start)}</time>
                {isAudible && <PlayButton segment={segment} play={playback.play} />}
                <MarkButton
                  conversationId={found.id}
                  startedAt={startedAt}
                  segment={segment}
                  marks={marked.get(segment.id) ?? []}
                  onChange={reloadMarks}
                />
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
      {playback.bar}
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
            const same = ({ id, speaker, is_user, person_id }: Segment) =>
              id !== naming.id &&
              speaker === naming.speaker &&
              is_user === naming.is_user &&
              person_id === naming.person_id;
            // The chosen line even if it was changed elsewhere meanwhile: then it is refused, and both versions are shown.
            const all = [naming, ...(isEverywhere ? segments.filter(same) : [])];
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

/** Returns the index of the line that is heard at a time; -1: none. */
function playedLine(segments: readonly Segment[], seconds: number | null): number {
  return seconds === null ? -1 : segments.findLastIndex(({ start }) => start <= seconds);
}

interface Choice {
  /** `user`: the owner; null: unknown. */
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
  const [problem, setProblem] = useState('');
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
      else setProblem(messageOf(error));
    }
  }
  if (refused)
    return (
      <Dialog title={t.value.whoSpeaks} onClose={onClose}>
        <Conflict
          theirs={refused.theirs}
          mine={refused.mine.name}
          problem={problem}
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
        {t.value.everywhere(speakerName(segment))}
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
            error => setProblem(messageOf(error)),
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
      <p class="problem" role="alert">
        {problem}
      </p>
    </Dialog>
  );
}
