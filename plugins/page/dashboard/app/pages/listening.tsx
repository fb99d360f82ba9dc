import { useState } from 'preact/hooks';
import { Show, say, sayError, useLoaded } from '../components.tsx';
import type { Listening } from '../data.ts';
import { dateTime, weekdayNames } from '../format.ts';
import { messageOf } from '../notices.tsx';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/users/listening';
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const LENGTHS = [30, 60, 240, 480] as const;
/** Limit of the API. */
const MAX_SPANS = 20;

type Span = Listening['schedule'][number];
const NIGHT: Span = { days: [...DAYS], from: '22:00', to: '07:00' };

/** Pauses of listening: one that starts now, and weekly ones. */
export function ListeningForms() {
  const listening = useLoaded('listening', () => api<Listening>('GET', PATH), ['listening']);
  return (
    <Show loaded={listening}>
      {found => (
        <>
          <PauseNow found={found} set={listening.set} />
          <Schedule key={JSON.stringify(found.schedule)} found={found} set={listening.set} />
        </>
      )}
    </Show>
  );
}

interface Shown {
  found: Listening;
  set(found: Listening): void;
}

function PauseNow({ found: { paused, until }, set }: Shown) {
  const [length, setLength] = useState('60');
  const change = (path: string, body?: object) =>
    void api<Listening>('POST', `${PATH}/${path}`, body).then(set, sayError);
  return (
    <div class="card note fields">
      <p class="status" role="status">
        {!paused
          ? t.value.listeningOn
          : until === null
            ? t.value.listeningPaused
            : t.value.listeningPausedUntil(dateTime(until))}
      </p>
      <div class="inline">
        <label>
          {t.value.pauseFor}
          <select value={length} onChange={event => setLength(event.currentTarget.value)}>
            {LENGTHS.map(minutes => (
              <option key={minutes} value={minutes}>
                {t.value.pauseLength(minutes)}
              </option>
            ))}
            <option value="">{t.value.pauseOpen}</option>
          </select>
        </label>
        <button
          type="button"
          onClick={() => change('pause', length === '' ? {} : { minutes: Number(length) })}
        >
          {t.value.pauseNow}
        </button>
        {paused && (
          <button type="button" onClick={() => change('resume')}>
            {t.value.resumeListening}
          </button>
        )}
      </div>
    </div>
  );
}

function Schedule({ found, set }: Shown) {
  const [spans, setSpans] = useState<readonly Span[]>(found.schedule);
  const [problem, setProblem] = useState('');
  const names = weekdayNames();
  const edit = (index: number, changes: Partial<Span>) =>
    setSpans(spans.map((span, place) => (place === index ? { ...span, ...changes } : span)));

  async function submit(event: SubmitEvent) {
    event.preventDefault();
    setProblem('');
    try {
      set(await api<Listening>('PUT', PATH, { schedule: spans }));
      say(t.value.saved);
    } catch (error) {
      setProblem(messageOf(error));
    }
  }
  return (
    <form class="card note fields" onSubmit={submit}>
      <p class="hint">{t.value.scheduleAbout(found.time_zone)}</p>
      {spans.map((span, index) => (
        <fieldset key={index} class="rule">
          <legend>{t.value.weeklyPause(index + 1)}</legend>
          <span class="weekdays">
            {DAYS.map((day, place) => (
              <label key={day} class="check">
                <input
                  type="checkbox"
                  checked={span.days.includes(day)}
                  onChange={event =>
                    edit(index, {
                      days: DAYS.filter(each =>
                        each === day ? event.currentTarget.checked : span.days.includes(each),
                      ),
                    })
                  }
                />
                {names[place]}
              </label>
            ))}
          </span>
          <span class="inline">
            <label>
              {t.value.from}
              <input
                type="time"
                required
                value={span.from}
                onInput={event => edit(index, { from: event.currentTarget.value })}
              />
            </label>
            <label>
              {t.value.to}
              <input
                type="time"
                required
                value={span.to}
                onInput={event => edit(index, { to: event.currentTarget.value })}
              />
            </label>
            <button
              type="button"
              class="quiet danger"
              onClick={() => setSpans(spans.filter((_, place) => place !== index))}
            >
              {t.value.remove}
            </button>
          </span>
        </fieldset>
      ))}
      <p class="problem" role="alert">
        {problem}
      </p>
      <div class="inline">
        {spans.length < MAX_SPANS && (
          <button type="button" onClick={() => setSpans([...spans, NIGHT])}>
            {t.value.addWeeklyPause}
          </button>
        )}
        <button type="submit" class="primary">
          {t.value.saveSchedule}
        </button>
      </div>
    </form>
  );
}
