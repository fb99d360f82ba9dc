import { useState } from 'preact/hooks';
import { Dialog, Empty, Icon, later, Page, Show, sayError, useLoaded } from '../components.tsx';
import type { Task } from '../data.ts';
import { Conflict, currentOf, StoredCheck } from '../editing.tsx';
import { lineAddress, localDay, shortDate } from '../format.ts';
import { messageOf } from '../notices.tsx';
import { SelectButton, type Selection, SelectionBar, useSelection } from '../selection.tsx';
import { api, read, type Version } from '../session.ts';
import { t } from '../texts.ts';
import { TaskCalendar } from './task-calendar.tsx';

const PATH = '/v1/dev/user/action-items';
const MOST = 200;

type View = 'open' | 'done' | 'asCalendar';
const VIEWS: readonly View[] = ['open', 'done', 'asCalendar'];

export function Tasks() {
  const [view, setView] = useState<View>('open');
  const isDone = view === 'done';
  const selection = useSelection();
  const [description, setDescription] = useState('');
  const [due, setDue] = useState('');
  const tasks = useLoaded(String(isDone), () => read<Task[]>(`${PATH}?limit=${MOST}&completed=${isDone}`), [
    'action_item',
    'conversation',
  ]);
  const isSelectable = view !== 'asCalendar' && (tasks.value?.length ?? 0) > 0;
  async function add(event: SubmitEvent) {
    event.preventDefault();
    try {
      await api('POST', PATH, { description, ...(due === '' ? {} : { due_at: dueAt(due) }) });
      setDescription('');
      setDue('');
      tasks.reload();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <Page title={t.value.tasks} actions={isSelectable && <SelectButton selection={selection} />}>
      <form class="inline add" onSubmit={add}>
        <input
          value={description}
          required
          maxLength={500}
          placeholder={t.value.addTask}
          aria-label={t.value.addTask}
          onInput={event => setDescription(event.currentTarget.value)}
        />
        <input
          type="date"
          value={due}
          aria-label={t.value.dueDate}
          onInput={event => setDue(event.currentTarget.value)}
        />
        <button type="submit" class="primary">
          {t.value.add}
        </button>
      </form>
      <div class="list-head">
        <fieldset class="tabs">
          <legend class="hidden">{t.value.tasks}</legend>
          {VIEWS.map(value => (
            <button
              key={value}
              type="button"
              aria-pressed={value === view}
              onClick={() => {
                setView(value);
                selection.end();
              }}
            >
              {t.value[value]}
            </button>
          ))}
        </fieldset>
        {isSelectable && (
          <SelectionBar
            selection={selection}
            all={tasks.value?.map(({ id }) => id) ?? []}
            actions={[
              {
                label: isDone ? t.value.reopen : t.value.complete,
                run: id => api('PATCH', `${PATH}/${id}`, { completed: !isDone }),
              },
              { label: t.value.remove, isDanger: true, run: id => api('DELETE', `${PATH}/${id}`) },
            ]}
            onDone={tasks.reload}
          />
        )}
      </div>
      {view === 'asCalendar' ? (
        <TaskCalendar />
      ) : (
        <Show loaded={tasks}>
          {found =>
            found.length === 0 ? (
              <Empty icon="tasks" title={t.value.noTasks} text={t.value.noTasksText} />
            ) : (
              <div class="card list">
                {found.map(task => (
                  <TaskRow key={task.id} task={task} reload={tasks.reload} selection={selection} />
                ))}
              </div>
            )
          }
        </Show>
      )}
    </Page>
  );
}

/** The end of that day in local time. */
function dueAt(day: string): string {
  return new Date(`${day}T18:00`).toISOString();
}

export function TaskRow({
  task,
  reload,
  isLinked = true,
  selection,
}: {
  task: Task;
  reload: () => Promise<void>;
  isLinked?: boolean;
  selection?: Selection;
}) {
  const [isEditing, setEditing] = useState(false);
  const [isGone, setGone] = useState(false);
  const path = `${PATH}/${task.id}`;
  if (isGone) return null;
  const hasPlace = task.conversation_id !== null && (isLinked || task.segment_id !== null);
  const isOverdue = task.due_at !== null && !task.completed && new Date(task.due_at) < new Date();
  return (
    <div class={task.completed ? 'row task done' : 'row task'}>
      {selection?.ids ? (
        <input
          type="checkbox"
          checked={selection.ids.has(task.id)}
          aria-label={`${t.value.select}: ${task.description}`}
          onChange={() => selection.toggle(task.id)}
        />
      ) : (
        <StoredCheck
          checked={task.completed}
          label={`${t.value.taskDone}: ${task.description}`}
          store={completed =>
            api('PATCH', path, { completed }).then(reload, error => {
              sayError(error);
              void reload(); // it may have been changed elsewhere
            })
          }
        />
      )}
      <span class="row-body">
        <span>{task.description}</span>
        {(task.due_at || hasPlace) && (
          <span class="row-meta">
            {task.due_at && (
              <span class={isOverdue ? 'late' : ''}>
                {`${t.value.due} ${shortDate(task.due_at)}${isOverdue ? `, ${t.value.overdue}` : ''}`}
              </span>
            )}
            {hasPlace && task.conversation_id && (
              <a href={lineAddress(task.conversation_id, task.segment_id)}>
                {task.segment_id ? t.value.saidHere : t.value.fromConversation}
              </a>
            )}
          </span>
        )}
      </span>
      <button
        type="button"
        class="quiet icon-button"
        aria-label={`${t.value.edit}: ${task.description}`}
        onClick={() => setEditing(true)}
      >
        <Icon name="edit" />
      </button>
      {isEditing && (
        <TaskDialog
          task={task}
          onClose={() => setEditing(false)}
          onSave={async changes => {
            await api('PATCH', path, changes);
            reload();
          }}
          onRemove={() => {
            setEditing(false);
            setGone(true);
            later(
              t.value.deleted,
              () => api('DELETE', path, undefined, { keepalive: true }),
              () => setGone(false),
            );
          }}
        />
      )}
    </div>
  );
}

/** Shows a version of a task: its description and due date. */
function versionText({ description, due_at }: Version): string {
  const day = typeof due_at === 'string' ? shortDate(due_at) : t.value.noDueDate;
  return `${description} (${t.value.dueDate}: ${day})`;
}

/** Stays open until the task is stored. */
function TaskDialog({
  task,
  onClose,
  onSave,
  onRemove,
}: {
  task: Task;
  onClose: () => void;
  onSave: (changes: object) => Promise<void>;
  onRemove: () => void;
}) {
  const [seen] = useState(task); // frozen, as live updates of the page continue
  const [description, setDescription] = useState(task.description);
  const [due, setDue] = useState(task.due_at === null ? '' : localDay(task.due_at));
  const [theirs, setTheirs] = useState<Version | null>(null);
  const [problem, setProblem] = useState('');
  async function save(from: Version) {
    const isSame = seen.due_at !== null && due === localDay(seen.due_at);
    const dueDay = due === '' ? null : isSame ? seen.due_at : dueAt(due);
    try {
      await onSave({ description, due_at: dueDay, expected: from });
      onClose();
    } catch (error) {
      const other = currentOf(error);
      if (other) setTheirs(other);
      else setProblem(messageOf(error));
    }
  }
  const dueField = (
    <label>
      {t.value.dueDate}
      <input type="date" value={due} onInput={event => setDue(event.currentTarget.value)} />
    </label>
  );
  const field = (label: string) => (
    <label>
      {label}
      <textarea
        rows={3}
        maxLength={500}
        required
        value={description}
        onInput={event => setDescription(event.currentTarget.value)}
      />
    </label>
  );
  return (
    <Dialog title={t.value.edit} onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault();
          void save({ description: seen.description, due_at: seen.due_at });
        }}
      >
        {theirs !== null ? (
          <Conflict
            theirs={versionText(theirs)}
            mine={
              <>
                {field(t.value.yourVersion)}
                {dueField}
              </>
            }
            problem={problem}
            onTheirs={onClose}
            onMine={() => void save(theirs)}
          />
        ) : (
          <>
            {field(t.value.addTask)}
            {dueField}
            <p class="problem" role="alert">
              {problem}
            </p>
            <div class="buttons">
              <button type="button" class="quiet danger" onClick={onRemove}>
                {t.value.remove}
              </button>
              <button type="submit" class="primary">
                {t.value.save}
              </button>
            </div>
          </>
        )}
      </form>
    </Dialog>
  );
}
