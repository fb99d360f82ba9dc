import { useState } from 'preact/hooks';
import { Chart } from '../chart.tsx';
import { Dialog, Empty, Icon, later, messageOf, Page, Show, sayError, useLoaded } from '../components.tsx';
import type { Goal, GoalDay } from '../data.ts';
import { shortDate } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/dev/user/goals';
const MOST = 200;
const HISTORY_DAYS = 90;

export function Goals() {
  const goals = useLoaded('goals', () => api<Goal[]>('GET', `${PATH}?limit=${MOST}&include_inactive=true`));
  const [isAdding, setAdding] = useState(false);
  return (
    <Page
      title={t.value.goals}
      actions={
        <button type="button" class="primary" onClick={() => setAdding(true)}>
          {t.value.newGoal}
        </button>
      }
    >
      <Show loaded={goals}>
        {found =>
          found.length === 0 ? (
            <Empty icon="goals" title={t.value.noGoals} text={t.value.noGoalsText} />
          ) : (
            <div class="card list">
              {found.map(goal => (
                <GoalRow key={goal.id} goal={goal} reload={goals.reload} />
              ))}
            </div>
          )
        }
      </Show>
      {isAdding && (
        <GoalDialog
          goal={null}
          onClose={() => setAdding(false)}
          onSave={async draft => {
            await api('POST', PATH, draft);
            goals.reload();
          }}
        />
      )}
    </Page>
  );
}

function GoalRow({ goal, reload }: { goal: Goal; reload: () => void }) {
  const [open, setOpen] = useState<'edit' | 'history' | null>(null);
  const [isGone, setGone] = useState(false);
  const path = `${PATH}/${goal.id}`;
  const change = (changes: object) => api('PATCH', path, changes).then(reload, sayError);
  if (isGone) return null;
  const { title, current_value: value, target_value: target, unit, status } = goal;
  return (
    <div class="row goal">
      <span class="row-body">
        <strong>{title}</strong>
        {goal.desired_outcome !== '' && <span>{goal.desired_outcome}</span>}
        {goal.goal_type === 'boolean' ? (
          <label class="check">
            <input
              type="checkbox"
              checked={value >= 1}
              onChange={event => change({ current_value: event.currentTarget.checked ? 1 : 0 })}
            />
            {t.value.reached}
          </label>
        ) : (
          <span class="progress">
            {target !== null && (
              <progress value={value} max={target} aria-label={`${t.value.progress}: ${title}`} />
            )}
            <span class="faint">
              {[target === null ? value : `${value} / ${target}`, unit].filter(Boolean).join(' ')}
            </span>
            <button
              type="button"
              class="quiet"
              aria-label={`${t.value.oneMore}: ${title}`}
              onClick={() => change({ current_value: value + 1 })}
            >
              +1
            </button>
          </span>
        )}
        <span class="row-meta">
          {[
            status === 'active' ? '' : t.value.goalStates[status],
            goal.horizon_at && `${t.value.due} ${shortDate(goal.horizon_at)}`,
          ]
            .filter(Boolean)
            .join(' · ')}
        </span>
      </span>
      <button
        type="button"
        class="quiet icon-button"
        aria-label={`${t.value.history}: ${title}`}
        onClick={() => setOpen('history')}
      >
        <Icon name="statistics" />
      </button>
      <button
        type="button"
        class="quiet icon-button"
        aria-label={`${t.value.edit}: ${title}`}
        onClick={() => setOpen('edit')}
      >
        <Icon name="edit" />
      </button>
      {open === 'history' && <HistoryDialog goal={goal} onClose={() => setOpen(null)} />}
      {open === 'edit' && (
        <GoalDialog
          goal={goal}
          onClose={() => setOpen(null)}
          onSave={draft => api('PATCH', path, draft).then(reload)}
          onRemove={() => {
            setOpen(null);
            setGone(true);
            later(
              t.value.deleted,
              () => void api('DELETE', path, undefined, { keepalive: true }).catch(sayError),
              () => setGone(false),
            );
          }}
        />
      )}
    </div>
  );
}

function HistoryDialog({ goal, onClose }: { goal: Goal; onClose: () => void }) {
  const history = useLoaded(goal.id, () =>
    api<GoalDay[]>('GET', `${PATH}/${goal.id}/history?days=${HISTORY_DAYS}`),
  );
  return (
    <Dialog title={goal.title} onClose={onClose}>
      <Show loaded={history}>
        {days =>
          days.length === 0 ? (
            <p>{t.value.noHistory}</p>
          ) : (
            <Chart
              title={goal.title}
              kind="line"
              points={days.map(({ date, value }) => ({ label: date, value }))}
            />
          )
        }
      </Show>
    </Dialog>
  );
}

function GoalDialog({
  goal,
  onClose,
  onSave,
  onRemove,
}: {
  goal: Goal | null;
  onClose: () => void;
  onSave: (draft: object) => Promise<void>;
  onRemove?: () => void;
}) {
  const [problem, setProblem] = useState('');
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const given = (name: string) => String(form.get(name) ?? '').trim();
    const number = (name: string) => (given(name) === '' ? {} : { [name]: Number(given(name)) });
    try {
      await onSave({
        title: given('title'),
        desired_outcome: given('desired_outcome'),
        ...number('target_value'),
        ...(goal ? number('current_value') : {}),
        ...(given('unit') === '' ? {} : { unit: given('unit') }),
        ...(given('horizon_at') === '' ? {} : { horizon_at: given('horizon_at') }),
        ...(goal ? { is_active: form.get('is_active') === 'on' } : {}),
      });
      onClose();
    } catch (error) {
      setProblem(messageOf(error));
    }
  }
  return (
    <Dialog title={goal ? t.value.edit : t.value.newGoal} onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          {t.value.goalTitle}
          <input name="title" required maxLength={500} defaultValue={goal?.title ?? ''} />
        </label>
        <label>
          {t.value.goalOutcome}
          <textarea name="desired_outcome" rows={2} maxLength={2000}>
            {goal?.desired_outcome ?? ''}
          </textarea>
        </label>
        <label>
          {t.value.goalTarget}
          <input name="target_value" type="number" step="any" defaultValue={goal?.target_value ?? ''} />
        </label>
        {goal && goal.goal_type !== 'boolean' && (
          <label>
            {t.value.goalCurrent}
            <input name="current_value" type="number" step="any" defaultValue={goal.current_value} />
          </label>
        )}
        <label>
          {t.value.goalUnit}
          <input name="unit" maxLength={50} defaultValue={goal?.unit ?? ''} />
        </label>
        <label>
          {t.value.goalHorizon}
          <input name="horizon_at" type="date" defaultValue={goal?.horizon_at?.slice(0, 10) ?? ''} />
        </label>
        {goal && goal.status !== 'completed' && (
          <label class="check">
            <input name="is_active" type="checkbox" defaultChecked={goal.is_active} />
            {t.value.goalActive}
          </label>
        )}
        <p class="problem" role="alert">
          {problem}
        </p>
        <div class="buttons">
          {onRemove && (
            <button type="button" class="quiet danger" onClick={onRemove}>
              {t.value.remove}
            </button>
          )}
          <button type="submit" class="primary">
            {t.value.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
