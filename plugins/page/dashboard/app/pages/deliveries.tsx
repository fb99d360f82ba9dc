import { useState } from 'preact/hooks';
import { Dialog, Show, say, sayError, useLoaded } from '../components.tsx';
import type { Delivery, WholeDelivery } from '../data.ts';
import { dateTime } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/deliveries';
const MOST = 50;

/** Delivery log, with each attempt. */
export function Deliveries() {
  const [state, setState] = useState('');
  const [open, setOpen] = useState<string | null>(null);
  const deliveries = useLoaded(
    `deliveries ${state}`,
    () => api<Delivery[]>('GET', `${PATH}?limit=${MOST}${state === '' ? '' : `&state=${state}`}`),
    ['conversation'],
  );
  return (
    <section>
      <header class="section-head">
        <h2 class="section">{t.value.deliveries}</h2>
        <select
          aria-label={t.value.stateFilter}
          value={state}
          onChange={e => setState(e.currentTarget.value)}
        >
          <option value="">{t.value.all}</option>
          {Object.entries(t.value.states).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </header>
      <Show loaded={deliveries}>
        {found =>
          found.length === 0 ? (
            <p class="card note">{t.value.noDeliveries}</p>
          ) : (
            <ul class="card plain">
              {found.map(({ id, type, state: now, created_at, attempts }) => (
                <li key={id}>
                  <strong>{type}</strong>
                  <span class={now === 'failed' ? 'late' : 'faint'}>{t.value.states[now] ?? now}</span>
                  <span class="faint">{`${dateTime(created_at)} · ${t.value.attempts(attempts)}`}</span>
                  <span class="actions">
                    <button
                      type="button"
                      class="quiet"
                      aria-label={`${t.value.details}: ${type}, ${dateTime(created_at)}`}
                      onClick={() => setOpen(id)}
                    >
                      {t.value.details}
                    </button>
                    <button
                      type="button"
                      class="quiet"
                      aria-label={`${t.value.replay}: ${type}, ${dateTime(created_at)}`}
                      onClick={() => api('POST', `${PATH}/${id}/replay`).then(deliveries.reload, sayError)}
                    >
                      {t.value.replay}
                    </button>
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
      {open && (
        <DeliveryDialog
          id={open}
          onClose={() => setOpen(null)}
          onReplayed={() => {
            setOpen(null);
            say(t.value.saved);
            deliveries.reload();
          }}
        />
      )}
    </section>
  );
}

function DeliveryDialog({
  id,
  onClose,
  onReplayed,
}: {
  id: string;
  onClose: () => void;
  onReplayed: () => void;
}) {
  const delivery = useLoaded(id, () => api<WholeDelivery>('GET', `${PATH}/${id}`));
  return (
    <Dialog title={t.value.deliveries} onClose={onClose}>
      <Show loaded={delivery}>
        {({ type, tries, body, next_at }) => (
          <>
            <p>
              <strong>{type}</strong> <code>{id}</code>
            </p>
            {next_at && <p class="faint">{t.value.nextAttempt(dateTime(next_at))}</p>}
            {tries.length === 0 && <p class="faint">{t.value.attempts(0)}</p>}
            <ol class="versions">
              {tries.map(attempt => (
                <li key={attempt.number}>
                  <p>{`${attempt.number}. ${dateTime(attempt.at)} · ${attempt.took_ms} ms · ${attempt.status ?? '–'}`}</p>
                  {attempt.error && <p class="late">{attempt.error}</p>}
                  {attempt.answer && <pre class="break">{attempt.answer}</pre>}
                </li>
              ))}
            </ol>
            {body !== null && (
              <details>
                <summary>{t.value.sentBody}</summary>
                <pre class="break">{body}</pre>
              </details>
            )}
            <button
              type="button"
              onClick={() => api('POST', `${PATH}/${id}/replay`).then(onReplayed, sayError)}
            >
              {t.value.replay}
            </button>
          </>
        )}
      </Show>
    </Dialog>
  );
}
