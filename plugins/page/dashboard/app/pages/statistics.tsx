import { useMemo, useState } from 'preact/hooks';
import { Chart } from '../chart.tsx';
import { Empty, Page, Show, useLoaded } from '../components.tsx';
import type { Statistics as Found } from '../data.ts';
import { hourOfDay, shortDate } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const SPANS = [7, 30, 90];
/** Maximum people in the chart. */
const MOST = 12;
const HOURS_PER_LABEL = 6;

export function Statistics() {
  const [days, setDays] = useState(30);
  const found = useLoaded(String(days), () => {
    const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const query = new URLSearchParams({ days: String(days), time_zone });
    return api<Found>('GET', `/v1/users/statistics?${query}`);
  });
  return (
    <Page title={t.value.statistics}>
      <fieldset class="tabs">
        <legend class="hidden">{t.value.statistics}</legend>
        {SPANS.map(span => (
          <button key={span} type="button" aria-pressed={span === days} onClick={() => setDays(span)}>
            {t.value.days(span)}
          </button>
        ))}
      </fieldset>
      <Show loaded={found}>{statistics => <Charts statistics={statistics} />}</Show>
    </Page>
  );
}

function Charts({ statistics }: { statistics: Found }) {
  const charts = useMemo(() => pointsOf(statistics), [statistics]);
  if (statistics.people.length === 0)
    return <Empty icon="statistics" title={t.value.noStatistics} text={t.value.noStatisticsText} />;
  return (
    <>
      <h2 class="section">{t.value.wordsPerDay}</h2>
      <Chart title={t.value.wordsPerDay} kind="bars" points={charts.days} />
      <h2 class="section">{t.value.whoSpoke}</h2>
      <ul class="card plain">
        {statistics.people.slice(0, MOST).map(({ person_id, is_user, name, words, conversations }) => (
          <li key={person_id ?? String(is_user)} class="share">
            <strong>{is_user ? t.value.me : name || t.value.unnamed}</strong>
            <meter
              value={words}
              max={statistics.people[0]?.words ?? words}
              aria-label={`${is_user ? t.value.me : name || t.value.unnamed}: ${t.value.words(words)}`}
            />
            <span class="faint">
              {`${t.value.words(words)} · ${t.value.conversationCount(conversations)}`}
            </span>
          </li>
        ))}
      </ul>
      <h2 class="section">{t.value.whenSpoken}</h2>
      <Chart title={t.value.whenSpoken} kind="bars" points={charts.hours} every={HOURS_PER_LABEL} />
    </>
  );
}

function pointsOf({ days, hours }: Found) {
  return {
    days: days.map(({ date, words }) => ({ label: shortDate(`${date}T12:00`), value: words })),
    hours: hours.map((value, hour) => ({ label: hourOfDay(hour), value })),
  };
}
