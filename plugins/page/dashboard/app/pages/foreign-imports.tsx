/** Imports of data from other products: a trial, the import, and undoing it. */
import { useState } from 'preact/hooks';
import { Dialog, Show, sayError, useLoaded } from '../components.tsx';
import type { ForeignImport, ImportProgress } from '../data.ts';
import { dateTime } from '../format.ts';
import { messageOf } from '../notices.tsx';
import { api, upload } from '../session.ts';
import { t } from '../texts.ts';
import { usePolling } from './readiness.tsx';

const PATH = '/v1/imports';
/** Format of an archive of a whole account, which is undone by deleting the account. */
const OWN_FORMAT = 'Earshot';

export function ForeignImports() {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="card note fields">
      <p>{t.value.foreignText}</p>
      <button type="button" onClick={() => setOpen(true)}>
        {t.value.foreignImport}
      </button>
      {isOpen && <ImportsDialog onClose={() => setOpen(false)} />}
    </div>
  );
}

function ImportsDialog({ onClose }: { onClose: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  /** The file of the last trial; only that file can be imported. */
  const [tried, setTried] = useState<File | null>(null);
  const [sent, setSent] = useState<number | null>(null);
  const [problem, setProblem] = useState('');
  const progress = useLoaded('import progress', () => api<ImportProgress>('GET', `${PATH}/progress`));
  const isRunning = progress.value?.running ?? false;
  const imports = useLoaded(`imports ${isRunning}`, () => api<ForeignImport[]>('GET', PATH));
  usePolling(isRunning, progress.reload);
  const isBusy = sent !== null || isRunning;

  async function send(isTrial: boolean) {
    if (!file) return;
    setProblem('');
    setSent(0);
    try {
      progress.set(await upload<ImportProgress>(`${PATH}?dry_run=${isTrial}`, [file], setSent, 'file'));
      setTried(isTrial ? file : null);
    } catch (error) {
      setProblem(messageOf(error));
    }
    setSent(null);
  }
  return (
    <Dialog title={t.value.foreignImport} onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault();
          void send(true);
        }}
      >
        <p class="hint">{t.value.foreignHint}</p>
        <label>
          {t.value.file}
          <input
            type="file"
            required
            disabled={isBusy}
            onChange={event => setFile(event.currentTarget.files?.[0] ?? null)}
          />
        </label>
        {sent !== null && (
          <p class="progress" role="status">
            <progress value={sent} max={1} aria-label={t.value.sending} />
            {t.value.sending}
          </p>
        )}
        <p class="problem" role="alert">
          {problem}
        </p>
        <div class="buttons">
          <button type="submit" disabled={isBusy || !file}>
            {t.value.tryImport}
          </button>
          <button
            type="button"
            class="primary"
            disabled={isBusy || !file || tried !== file || progress.value?.error != null}
            onClick={() => void send(false)}
          >
            {t.value.startImport}
          </button>
        </div>
      </form>
      <Show loaded={progress}>{state => <Outcome state={state} />}</Show>
      <Show loaded={imports}>
        {all =>
          all.length === 0 ? (
            <p class="faint">{t.value.noImports}</p>
          ) : (
            <ul class="versions">
              {all.map(each => (
                <li key={each.id}>
                  <p class="break">
                    <strong>{each.name}</strong>{' '}
                    <span class="faint">
                      {`${each.format} · ${dateTime(each.started_at)} · ${t.value.importStates[each.state]}`}
                    </span>
                  </p>
                  <p>{countsText(each.counts)}</p>
                  {each.state === 'done' && each.format !== OWN_FORMAT && (
                    <button
                      type="button"
                      class="quiet danger"
                      disabled={isBusy}
                      aria-label={`${t.value.takeBack}: ${each.name}`}
                      onClick={() =>
                        void api<ImportProgress>('POST', `${PATH}/${each.id}/undo`).then(
                          progress.set,
                          sayError,
                        )
                      }
                    >
                      {t.value.takeBack}
                    </button>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Show>
    </Dialog>
  );
}

/** Progress and result of a trial, an import or an undo. */
function Outcome({ state }: { state: ImportProgress }) {
  const { work, running, done, format, counts, known, left_out, error } = state;
  if (work === null) return null;
  return (
    <section role="status" aria-busy={running}>
      <h3>{t.value.importWorks[work]}</h3>
      {running && (
        <p class="progress">
          <progress aria-label={t.value.importWorks[work]} />
          {t.value.importDone(done)}
        </p>
      )}
      {error !== null && <p class="problem break">{error}</p>}
      {!running && error === null && (
        <>
          {format !== null && <p>{t.value.recognisedFormat(format)}</p>}
          <p>{countsText(counts)}</p>
          {known > 0 && <p>{t.value.importKnown(known)}</p>}
          {left_out.length > 0 && (
            <details>
              <summary>{t.value.importLeftOut}</summary>
              <ul>
                {left_out.map(({ what, why, count }) => (
                  <li key={`${what} ${why}`} class="break">{`${what}: ${why} (${count})`}</li>
                ))}
              </ul>
            </details>
          )}
        </>
      )}
    </section>
  );
}

function countsText(counts: Readonly<Record<string, number>>): string {
  const all = Object.entries(counts).map(([kind, count]) => `${t.value.importKinds[kind] ?? kind}: ${count}`);
  return all.length === 0 ? t.value.importNothing : all.join(' · ');
}
