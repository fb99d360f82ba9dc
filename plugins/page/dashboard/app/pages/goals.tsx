import { useState } from 'preact/hooks';
import { Chart } from '../chart.tsx';
import { Dialog, Empty, Icon, later, Page, Show, sayError, useLoaded } from '../components.tsx';
import type { Goal, GoalDay, GoalSuggestion } from '../data.ts';
import { Conflict, currentOf, StoredCheck } from '../editing.tsx';
import { shortDate } from '../format.ts';
import { messageOf } from '../notices.tsx';
import { api, type Version } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/dev/user/goals';
const SUGGESTIONS = `${PATH}/suggestions`;
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
      <Suggestions goals={goals.value ?? []} reload={goals.reload} />
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

/** Progress found in conversations, which the user accepts or dismisses. */
function Suggestions({ goals, reload }: { goals: readonly Goal[]; reload: () => void }) {
  const suggestions = useLoaded('suggestions', () => api<GoalSuggestion[]>('GET', SUGGESTIONS), [
    'conversation',
  ]);
  const answer = (id: string, word: 'accept' | 'refuse') =>
    api('POST', `${SUGGESTIONS}/${id}/${word}`).then(() => {
      suggestions.reload();
      reload();
    }, sayError);
  if (!suggestions.value?.length) return null;
  return (
    <section>
      <h2 class="section">{t.value.goalSuggestions}</h2>
      <ul class="card plain stacked">
        {suggestions.value.map(suggestion => {
          const { id, goal_id, text, current_value: from, suggested_value: to } = suggestion;
          const goal = goals.find(each => each.id === goal_id);
          const title = goal?.title ?? '';
          return (
            <li key={id}>
              <p>
                <strong class="as-is">{title}</strong>{' '}
                <span class="faint">{[`${from} → ${to}`, goal?.unit].filter(Boolean).join(' ')}</span>
              </p>
              <p>
                <a href={`/conversations/${suggestion.conversation_id}`}>{text}</a>
              </p>
              <span class="buttons">
                <button
                  type="button"
                  aria-label={`${t.value.accept}: ${text}`}
                  onClick={() => void answer(id, 'accept')}
                >
                  {t.value.accept}
                </button>
                <button
                  type="button"
                  class="quiet"
                  aria-label={`${t.value.reject}: ${text}`}
                  onClick={() => void answer(id, 'refuse')}
                >
                  {t.value.reject}
                </button>
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function GoalRow({ goal, reload }: { goal: Goal; reload: () => Promise<void> }) {
  const [open, setOpen] = useState<'edit' | 'history' | null>(null);
  const [isGone, setGone] = useState(false);
  const path = `${PATH}/${goal.id}`;
  if (isGone) return null;
  const { title, current_value: value, target_value: target, unit, status } = goal;
  return (
    <div class="row goal">
      <span class="row-body">
        <strong>{title}</strong>
        {goal.desired_outcome !== '' && <span>{goal.desired_outcome}</span>}
        {goal.goal_type === 'boolean' ? (
          <label class="check">
            <StoredCheck
              checked={value >= 1}
              store={isReached =>
                api('PATCH', path, { current_value: isReached ? 1 : 0 }).then(reload, sayError)
              }
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
              onClick={() =>
                void api('PATCH', `${path}/progress?current_value=1&adds=true`).then(reload, sayError)
              }
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
          onClose={() => {
            setOpen(null);
            reload();
          }}
          onSave={draft => api<void>('PATCH', path, draft)}
          onRemove={() => {
            setOpen(null);
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

/** Fields of the form, named as in the API. */
type Draft = Version;

interface Clash {
  theirs: Draft;
  mine: Draft;
  isActive: boolean;
}

const NUMBERS = ['target_value', 'current_value'];
const DATE = 'horizon_at';

/** Reads the form. An empty field is left unchanged, except for the description. */
function draftOf(form: FormData): Draft {
  const draft: Record<string, string | number> = {};
  for (const [name, value] of form) {
    const text = String(value).trim();
    if (name === 'is_active' || (text === '' && name !== 'desired_outcome')) continue;
    draft[name] = NUMBERS.includes(name) ? Number(text) : text;
  }
  return draft;
}

/** Value of a field as the form shows it. */
function shownIn(goal: Goal, name: string): string | number | null {
  const value = goal[name as keyof Goal] as string | number | null; // only called with fields of the form
  return name === DATE && typeof value === 'string' ? value.slice(0, 10) : value;
}

function changedFields(draft: Draft, seen: Goal | null): Draft {
  if (!seen) return draft;
  return Object.fromEntries(Object.entries(draft).filter(([name, value]) => value !== shownIn(seen, name)));
}

function expectedOf(changes: Draft, seen: Goal): Draft {
  return Object.fromEntries(
    Object.keys(changes).map(name => [name, seen[name as keyof Goal] as string | number | null]),
  );
}

function inWords(values: Draft): string {
  const names: Record<string, string> = {
    title: t.value.title,
    desired_outcome: t.value.goalOutcome,
    target_value: t.value.goalTarget,
    current_value: t.value.goalCurrent,
    unit: t.value.goalUnit,
    horizon_at: t.value.goalHorizon,
  };
  return Object.entries(values)
    .map(([name, value]) => {
      const shown = name === DATE && typeof value === 'string' ? shortDate(value) : (value ?? '');
      return `${names[name] ?? name}: ${shown}`;
    })
    .join('\n');
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
  const [seen] = useState(goal); // initial values of the fields
  const [clash, setClash] = useState<Clash | null>(null);
  async function save(draft: Draft, isActive: boolean, expected: Partial<Draft> | null) {
    const edit = { is_active: isActive, ...(expected && { expected }) };
    try {
      await onSave({ ...draft, ...(goal && edit) });
      onClose();
    } catch (error) {
      const theirs = currentOf(error);
      if (theirs) setClash({ theirs, mine: draft, isActive });
      else setProblem(messageOf(error));
    }
  }
  function submit(event: SubmitEvent) {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const given = changedFields(draftOf(form), seen);
    const isActive = form.has('is_active') || (seen !== null && seen.status === 'completed');
    void save(given, isActive, seen && expectedOf(given, seen));
  }
  if (clash)
    return (
      <Dialog title={t.value.edit} onClose={onClose}>
        <Conflict
          theirs={inWords(clash.theirs)}
          mine={inWords(clash.mine)}
          problem={problem}
          onTheirs={onClose}
          onMine={() => void save(clash.mine, clash.isActive, clash.theirs)}
        />
      </Dialog>
    );
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
