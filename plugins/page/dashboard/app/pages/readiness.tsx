/** Shows operators whether the server is ready, with one action for each part that does not work. */
import { useEffect, useState } from 'preact/hooks';
import { type Loaded, Show, say, sayError, useLoaded } from '../components.tsx';
import type { Conversation, Model, ReadyPart, Simulation } from '../data.ts';
import { size } from '../format.ts';
import { devices } from '../live.ts';
import { account, api } from '../session.ts';
import { t } from '../texts.ts';
import { Pairing } from './pairing.tsx';

const POLL_MS = 1000;
const RECOGNITION = 'speech recognition';

export const isOperator = (): boolean => account.value?.role === 'operator';

/** Polls every second while a task is running. */
export function usePolling(isActive: boolean, reload: () => void): void {
  useEffect(() => {
    if (!isActive) return;
    const timer = setInterval(reload, POLL_MS);
    return () => clearInterval(timer);
  }, [isActive]);
}

export function useModels(): Loaded<{ models: Model[] }> {
  const models = useLoaded('models', () => api<{ models: Model[] }>('GET', '/v1/system/models'));
  usePolling(models.value?.models.some(({ download }) => download?.running) ?? false, models.reload);
  return models;
}

export function useReadiness(): Loaded<{ parts: ReadyPart[] }> {
  return useLoaded('readiness', () => api<{ parts: ReadyPart[] }>('GET', '/v1/system/readiness'));
}

/** The download button, then its progress, then its error if it failed. */
export function DownloadModel({ model, models }: { model: Model; models: Loaded<{ models: Model[] }> }) {
  const { name, bytes, download, installed } = model;
  if (download?.running)
    return (
      <span class="progress" role="status">
        <progress value={download.bytes} max={bytes} aria-label={name} />
        {t.value.downloaded(size(download.bytes), size(bytes))}
      </span>
    );
  if (installed) return null;
  return (
    <>
      {download?.error && <p class="problem">{download.error}</p>}
      <button
        type="button"
        aria-label={`${t.value.downloadModel(size(bytes))}: ${name}`}
        onClick={() =>
          void api('POST', `/v1/system/models/${encodeURIComponent(name)}/download`).then(
            models.reload,
            sayError,
          )
        }
      >
        {t.value.downloadModel(size(bytes))}
      </button>
    </>
  );
}

export function PartList({
  parts,
  models,
}: {
  parts: readonly ReadyPart[];
  models: Loaded<{ models: Model[] }>;
}) {
  return (
    <ul class="card plain stacked parts">
      {parts.map(({ part, name, ok, optional, detail, cure, download }) => {
        const model = models.value?.models.find(each => each.name === download?.model);
        return (
          <li key={`${part} ${name}`}>
            <p class={`health ${ok ? 'ok' : optional ? 'optional' : ''}`}>
              <span class="light" aria-hidden="true" />
              <strong>{t.value.parts[part] ?? part}</strong>
              <span class="faint">
                {ok ? t.value.partReady : optional ? t.value.partOptional : t.value.partMissing}
              </span>
            </p>
            <p class="faint break">
              {name === 'none' || detail.includes(name) ? detail : `${name}: ${detail}`}
            </p>
            {model && <DownloadModel model={model} models={models} />}
            {!model && !ok && cure && (
              <p>
                {t.value.runOnServer} <code>{cure}</code>
              </p>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/**
 * First steps for the operator: shown until the first conversation exists, and whenever a required part is
 * missing.
 */
export function FirstSteps() {
  const readiness = useReadiness();
  const models = useModels();
  const recent = useLoaded(
    'any conversation',
    () => api<Conversation[]>('GET', '/v1/dev/user/conversations?limit=1'),
    ['conversation'],
  );
  const isDownloading = models.value?.models.some(({ download }) => download?.running) ?? false;
  useEffect(() => {
    if (models.value !== null && !isDownloading) readiness.reload(); // the downloaded model may be ready now
  }, [isDownloading]);
  if (recent.value === null || readiness.value === null) return null;
  const { parts } = readiness.value;
  const isNew = recent.value.length === 0;
  const missing = parts.filter(({ ok, optional }) => !ok && !optional);
  if (!isNew && missing.length === 0 && !isDownloading) return null;
  const recognisers = parts.filter(({ part }) => part === RECOGNITION);
  const isHeard = recognisers.some(({ ok }) => ok);
  const shown = isNew
    ? parts.filter(({ part, download }) => part === RECOGNITION || part === 'language model' || download)
    : missing;
  return (
    <section class="first-steps" aria-label={isNew ? t.value.firstSteps : t.value.notReady}>
      <h2 class="section">{isNew ? t.value.firstSteps : t.value.notReady}</h2>
      <PartList parts={[...new Set([...missing, ...shown])]} models={models} />
      {isNew && <PairWearable isHeard={isHeard} />}
    </section>
  );
}

function PairWearable({ isHeard }: { isHeard: boolean }) {
  return (
    <ul class="card plain stacked parts">
      <li>
        <p class={`health ${devices.value.length > 0 ? 'ok' : 'optional'}`}>
          <span class="light" aria-hidden="true" />
          <strong>{t.value.wearable}</strong>
          <span class="faint">
            {devices.value.length > 0 ? t.value.connected : t.value.deviceStates.disconnected}
          </span>
        </p>
        <p class="faint">{t.value.pairHint}</p>
        <p>
          <Pairing />
        </p>
        <Simulated isHeard={isHeard} />
      </li>
    </ul>
  );
}

/** A simulated pendant; its words appear like those of a real one. */
function Simulated({ isHeard }: { isHeard: boolean }) {
  const [wasStarted, setStarted] = useState(false);
  const simulation = useLoaded('simulation', () => api<Simulation>('GET', '/v1/system/simulation'));
  const isRunning = simulation.value?.running ?? false;
  usePolling(isRunning, simulation.reload);
  const change = (method: string) =>
    api<Simulation>(method, '/v1/system/simulation').then(state => {
      simulation.set(state);
      setStarted(true);
      if (method === 'DELETE') say(t.value.simulationStopped);
    }, sayError);
  return (
    <Show loaded={simulation}>
      {({ running, error }) => (
        <>
          {error && <p class="problem">{error}</p>}
          <p class="faint" role="status">
            {running ? t.value.simulationRuns : wasStarted && !error ? t.value.simulationEnded : ''}
          </p>
          <button type="button" disabled={!isHeard} onClick={() => void change(running ? 'DELETE' : 'POST')}>
            {running ? t.value.simulationStop : t.value.simulationPlay}
          </button>
          {!isHeard && <p class="hint">{t.value.simulationNeeds}</p>}
        </>
      )}
    </Show>
  );
}
