import { useState } from 'preact/hooks';
import { Icon, Show, useLoaded } from '../components.tsx';
import type { Task } from '../data.ts';
import { monthName, shortDate, weekdayNames } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';
import { TaskRow } from './tasks.tsx';

const PATH = '/v1/dev/user/action-items';
const MOST = 1000;
const DAYS = 7;

/** The tasks of a month by due date. */
export function TaskCalendar() {
  const [month, setMonth] = useState(() => firstOf(new Date()));
  const [day, setDay] = useState(() => keyOf(new Date()));
  const tasks = useLoaded('due tasks', () => api<Task[]>('GET', `${PATH}?limit=${MOST}`), ['action_item']);
  const move = (by: number) => setMonth(new Date(month.getFullYear(), month.getMonth() + by, 1));
  return (
    <section>
      <header class="month-head">
        <button
          type="button"
          class="quiet icon-button"
          aria-label={t.value.previousMonth}
          onClick={() => move(-1)}
        >
          <Icon name="back" />
        </button>
        <h2 aria-live="polite">{monthName(month)}</h2>
        <button
          type="button"
          class="quiet icon-button"
          aria-label={t.value.nextMonth}
          onClick={() => move(1)}
        >
          <Icon name="forward" />
        </button>
      </header>
      <Show loaded={tasks}>
        {found => {
          const byDay = Map.groupBy(
            found.filter(task => task.due_at !== null),
            task => keyOf(new Date(task.due_at ?? '')),
          );
          return (
            <>
              <div class="month">
                {weekdayNames().map(name => (
                  <span key={name} class="faint" aria-hidden="true">
                    {name}
                  </span>
                ))}
                {daysAround(month).map(date => {
                  const key = keyOf(date);
                  const due = byDay.get(key)?.length ?? 0;
                  const isOther = date.getMonth() !== month.getMonth();
                  return (
                    <button
                      key={key}
                      type="button"
                      class={isOther ? 'day other' : 'day'}
                      aria-pressed={key === day}
                      onClick={() => setDay(key)}
                    >
                      <span class="hidden">
                        {`${shortDate(date.toISOString())}: ${t.value.taskCount(due)}`}
                      </span>
                      <span aria-hidden="true">{date.getDate()}</span>
                      {due > 0 && (
                        <span class="count" aria-hidden="true">
                          {due}
                        </span>
                      )}
                    </button>
                  );
                })}
              </div>
              <div class="card list">
                {(byDay.get(day) ?? []).map(task => (
                  <TaskRow key={task.id} task={task} reload={tasks.reload} />
                ))}
                {!byDay.has(day) && <p class="note faint">{t.value.noTasks}</p>}
              </div>
            </>
          );
        }}
      </Show>
    </section>
  );
}

function firstOf(date: Date): Date {
  return new Date(date.getFullYear(), date.getMonth(), 1);
}

/** Local date. */
function keyOf(date: Date): string {
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].join('-');
}

/** Whole weeks, starting on Monday. */
function daysAround(month: Date): Date[] {
  const before = (month.getDay() + DAYS - 1) % DAYS;
  const inMonth = new Date(month.getFullYear(), month.getMonth() + 1, 0).getDate();
  const count = Math.ceil((before + inMonth) / DAYS) * DAYS;
  return Array.from(
    { length: count },
    (_, index) => new Date(month.getFullYear(), month.getMonth(), 1 - before + index),
  );
}
