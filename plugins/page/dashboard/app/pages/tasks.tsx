import { useState } from 'preact/hooks';
import { Dialog, Empty, Icon, later, Page, Show, sayError, useLoaded } from '../components.tsx';
import type { Task } from '../data.ts';
import { shortDate } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/dev/user/action-items';
const MOST = 200;

export function Tasks() {
  const [isDone, setDone] = useState(false);
  const [description, setDescription] = useState('');
  const [due, setDue] = useState('');
  const tasks = useLoaded(
    String(isDone),
    () => api<Task[]>('GET', `${PATH}?limit=${MOST}&completed=${isDone}`),
    ['action_item', 'conversation'],
  );
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
      <fieldset class="tabs">
        <legend class="hidden">{t.value.tasks}</legend>
        {[false, true].map(value => (
          <button
            key={String(value)}
            type="button"
            aria-pressed={value === isDone}
            onClick={() => setDone(value)}
          >
            {value ? t.value.done : t.value.open}
          </button>
        ))}
      </fieldset>
      <Show loaded={tasks}>
        {found =>
          found.length === 0 ? (
            <Empty icon="tasks" title={t.value.noTasks} text={t.value.noTasksText} />
          ) : (
            <div class="card list">
              {found.map(task => (
                <TaskRow key={task.id} task={task} reload={tasks.reload} />
              ))}
            </div>
          )
        }
      </Show>
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
}: {
  task: Task;
  reload: () => void;
  isLinked?: boolean;
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
      <input
        type="checkbox"
        checked={task.completed}
        aria-label={`${t.value.taskDone}: ${task.description}`}
        onChange={event => change({ completed: event.currentTarget.checked })}
      />
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
