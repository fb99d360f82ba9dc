import { useState } from 'preact/hooks';
import { Dialog, Empty, Icon, later, Page, Show, sayError, useLoaded } from '../components.tsx';
import type { Task } from '../data.ts';
import { shortDate } from '../format.ts';
import { type Selection, SelectionBar, useSelection } from '../selection.tsx';
import { api, read } from '../session.ts';
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
    <Page title={t.value.tasks}>
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
        {view !== 'asCalendar' && (tasks.value?.length ?? 0) > 0 && (
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

/** The end of that day here. */
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
  reload: () => void;
  isLinked?: boolean;
  selection?: Selection;
}) {
  const [isEditing, setEditing] = useState(false);
  const [isGone, setGone] = useState(false);
  const path = `${PATH}/${task.id}`;
  async function change(changes: object) {
    await api('PATCH', path, changes).catch(sayError);
    reload();
  }
  if (isGone) return null;
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
        <input
          type="checkbox"
          checked={task.completed}
          aria-label={`${t.value.taskDone}: ${task.description}`}
          onChange={event => change({ completed: event.currentTarget.checked })}
        />
      )}
      <span class="row-body">
        <span>{task.description}</span>
        {(task.due_at || (isLinked && task.conversation_id)) && (
          <span class="row-meta">
            {task.due_at && (
              <span class={isOverdue ? 'late' : ''}>
                {`${t.value.due} ${shortDate(task.due_at)}${isOverdue ? `, ${t.value.overdue}` : ''}`}
              </span>
            )}
            {isLinked && task.conversation_id && (
              <a href={`/conversations/${task.conversation_id}`}>{t.value.fromConversation}</a>
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
        <Dialog title={t.value.edit} onClose={() => setEditing(false)}>
          <form
            onSubmit={event => {
              event.preventDefault();
              const form = new FormData(event.currentTarget);
              const due = String(form.get('due'));
              setEditing(false);
              void change({
                description: String(form.get('description')),
                due_at: due === '' ? null : due === task.due_at?.slice(0, 10) ? task.due_at : dueAt(due),
              });
            }}
          >
            <label>
              {t.value.addTask}
              <textarea name="description" rows={3} maxLength={500} required>
                {task.description}
              </textarea>
            </label>
            <label>
              {t.value.dueDate}
              <input type="date" name="due" defaultValue={task.due_at?.slice(0, 10) ?? ''} />
            </label>
            <div class="buttons">
              <button
                type="button"
                class="quiet danger"
                onClick={() => {
                  setEditing(false);
                  setGone(true);
                  later(
                    t.value.deleted,
                    () => void api('DELETE', path, undefined, { keepalive: true }).catch(sayError),
                    () => setGone(false),
                  );
                }}
              >
                {t.value.remove}
              </button>
              <button type="submit" class="primary">
                {t.value.save}
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </div>
  );
}
