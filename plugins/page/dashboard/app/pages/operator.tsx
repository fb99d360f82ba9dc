/** Sections of the system page for operators: they show the server, but no data of other users. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Loaded, Show, sayError, useLoaded } from '../components.tsx';
import type { BackupState, DiskUsage, Examination, Job, Latency, LogLine, PluginState } from '../data.ts';
import { dateTime, minutes, size } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';
import { Models } from './models.tsx';
import { PluginOptions } from './plugin-options.tsx';
import { PartList, useModels, usePolling, useReadiness } from './readiness.tsx';

const LEVELS = ['debug', 'info', 'warn', 'error'];

export function Operator() {
  const readiness = useReadiness();
  const models = useModels();
  return (
    <>
      <Section title={t.value.readiness}>
        <Show loaded={readiness}>{({ parts }) => <PartList parts={parts} models={models} />}</Show>
      </Section>
      <Doctor />
      <Backup />
      <Section title={t.value.models}>
        <Models models={models} />
      </Section>
      <Plugins />
      <Storage />
      <Latencies />
      <Jobs />
      <Log />
    </>
  );
}

function Section({
  title,
  action,
  children,
}: {
  title: string;
  action?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section>
      <header class="section-head">
        <h2 class="section">{title}</h2>
        {action}
      </header>
      {children}
    </section>
  );
}

/** Starts a task that the server continues by itself; its state is polled until it ends. */
function useStarted<T extends { running: boolean }>(path: string): Loaded<T> & { start(): void } {
  const loaded = useLoaded(path, () => api<T>('GET', path));
  usePolling(loaded.value?.running ?? false, loaded.reload);
  return { ...loaded, start: () => void api<T>('POST', path).then(loaded.set, sayError) };
}

function Doctor() {
  const examination = useStarted<Examination>('/v1/system/examination');
  return (
    <Section
      title={t.value.doctor}
      action={
        <button type="button" disabled={examination.value?.running ?? true} onClick={examination.start}>
          {examination.value?.running ? t.value.examining : t.value.examine}
        </button>
      }
    >
      <Show loaded={examination}>
        {({ started_at, findings, error, running }) => (
          <div aria-live="polite" aria-busy={running}>
            <p class="hint">{started_at ? t.value.examinedAt(dateTime(started_at)) : t.value.examineHint}</p>
            {error && <p class="problem">{error}</p>}
            {findings.length > 0 && (
              <ul class="card plain stacked parts">
                {findings
                  .filter(({ level }) => level !== 'good')
                  .concat(findings.filter(({ level }) => level === 'good'))
                  .map(({ group, what, level, detail, cure }, index) => (
                    <li key={`${group} ${what} ${index}`}>
                      <p class={`health ${LIGHTS[level]}`}>
                        <span class="light" aria-hidden="true" />
                        <strong>{`${group}: ${what}`}</strong>
                        <span class="faint">{t.value.findingLevels[level]}</span>
                      </p>
                      <p class="faint break">{detail}</p>
                      {cure && <p class="break">{cure}</p>}
                    </li>
                  ))}
              </ul>
            )}
          </div>
        )}
      </Show>
    </Section>
  );
}

const LIGHTS = { good: 'ok', note: 'optional', doubt: 'degraded', bad: '' } as const;

function Backup() {
  const backup = useStarted<BackupState>('/v1/system/backup');
  return (
    <Section title={t.value.backup}>
      <Show loaded={backup}>
        {({ running, error, newest, enabled, directory }) => (
          <div class="card note fields">
            <p>
              {newest
                ? t.value.newestBackup(dateTime(newest.created_at), size(newest.bytes))
                : t.value.noBackup}{' '}
              {enabled ? t.value.backupDaily : t.value.backupOff}
            </p>
            <p class="faint break">{directory}</p>
            {error && <p class="problem">{error}</p>}
            <button type="button" disabled={running} onClick={backup.start}>
              {running ? t.value.backingUp : t.value.backUpNow}
            </button>
          </div>
        )}
      </Show>
    </Section>
  );
}

function Plugins() {
  const plugins = useLoaded('plugins', () => api<{ plugins: PluginState[] }>('GET', '/v1/system/plugins'));
  return (
    <Section title={t.value.plugins}>
      <p class="hint">{t.value.pluginsHint}</p>
      <Show loaded={plugins}>
        {({ plugins: all }) => (
          <ul class="card plain stacked">
            {all
              .filter(({ state }) => state !== 'off')
              .map(plugin => (
                <Plugin key={plugin.name} plugin={plugin} reload={plugins.reload} />
              ))}
          </ul>
        )}
      </Show>
    </Section>
  );
}

function Plugin({ plugin, reload }: { plugin: PluginState; reload: () => void }) {
  const { name, title, state, reason, options, ignored } = plugin;
  return (
    <li>
      <p class={`health ${state === 'ready' ? 'ok' : state === 'starting' ? 'optional' : 'degraded'}`}>
        <span class="light" aria-hidden="true" />
        <strong class="as-is">{name}</strong>
        <span class="faint">{t.value.pluginStates[state]}</span>
      </p>
      <p class="faint">{title}</p>
      {reason && <p class="problem break">{reason}</p>}
      {ignored.length > 0 && <p class="problem break">{`${t.value.optionsIgnored} ${ignored.join('; ')}`}</p>}
      {options.length > 0 && (
        <details>
          <summary>{`${t.value.options}: ${name}`}</summary>
          <PluginOptions plugin={plugin} reload={reload} />
        </details>
      )}
    </li>
  );
}

function Storage() {
  const usage = useLoaded('storage', () => api<DiskUsage>('GET', '/v1/system/storage'));
  return (
    <Section title={t.value.storage}>
      <Show loaded={usage}>
        {({ free_bytes, parts, accounts }) => (
          <>
            <p class="hint">{t.value.freeSpace(size(free_bytes))}</p>
            <Table
              head={[t.value.folder, t.value.spaceUsed]}
              rows={[
                ...parts.map(({ name, bytes }) => [name, size(bytes)]),
                [t.value.together, size(parts.reduce((sum, { bytes }) => sum + bytes, 0))],
              ]}
            />
            <Table
              head={[t.value.account, t.value.photos, t.value.recordings, t.value.audio]}
              rows={accounts.map(each => [
                each.name,
                size(each.photos_bytes),
                size(each.recordings_bytes),
                size(each.clips_bytes),
              ])}
            />
          </>
        )}
      </Show>
    </Section>
  );
}

function Latencies() {
  const latency = useLoaded(
    'latency',
    () => api<{ total: Latency; beyond: Latency }>('GET', '/v1/system/latency'),
    ['segments'],
  );
  const row = (name: string, { count, p50_ms, p90_ms, p99_ms, max_ms }: Latency) => [
    name,
    String(count),
    ...[p50_ms, p90_ms, p99_ms, max_ms].map(ms => (ms === null ? '–' : `${ms} ms`)),
  ];
  return (
    <Section title={t.value.latency}>
      <Show loaded={latency}>
        {({ total, beyond }) =>
          total.count === 0 ? (
            <p class="card note">{t.value.noLatency}</p>
          ) : (
            <>
              <p class="hint">{t.value.latencyAbout(total.count, minutes(total.oldest_s ?? 0))}</p>
              <Table
                head={['', t.value.jobCount, 'p50', 'p90', 'p99', t.value.maximum]}
                rows={[row(t.value.latencyTotal, total), row(t.value.latencyBeyond, beyond)]}
              />
            </>
          )
        }
      </Show>
    </Section>
  );
}

function Jobs() {
  const jobs = useLoaded('jobs', () => api<{ jobs: Job[] }>('GET', '/v1/system/jobs'), ['conversation']);
  return (
    <Section title={t.value.jobs}>
      <Show loaded={jobs}>
        {({ jobs: all }) =>
          all.length === 0 ? (
            <p class="card note">{t.value.noJobs}</p>
          ) : (
            <Table
              head={[t.value.job, t.value.jobState, t.value.jobCount]}
              rows={all.map(({ kind, state, count }) => [kind, t.value.jobStates[state], String(count)])}
            />
          )
        }
      </Show>
    </Section>
  );
}

function Table({ head, rows }: { head: readonly string[]; rows: readonly (readonly string[])[] }) {
  return (
    <table class="card">
      <thead>
        <tr>
          {head.map(each => (
            <th key={each} scope="col">
              {each}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr key={row.join()}>
            {row.map((cell, index) => (
              <td key={index}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Log() {
  const [level, setLevel] = useState('info');
  const log = useLoaded(`log ${level}`, () =>
    api<{ lines: LogLine[] }>('GET', `/v1/system/log?level=${level}`),
  );
  return (
    <Section
      title={t.value.log}
      action={
        <span class="buttons">
          <select
            aria-label={t.value.logLevel}
            value={level}
            onChange={event => setLevel(event.currentTarget.value)}
          >
            {LEVELS.map(each => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
          <button type="button" onClick={log.reload}>
            {t.value.reload}
          </button>
        </span>
      }
    >
      <Show loaded={log}>
        {({ lines }) =>
          lines.length === 0 ? (
            <p class="card note">{t.value.noLog}</p>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach it
            <ol class="card log" tabIndex={0} aria-label={t.value.log}>
              {lines.map((line, index) => (
                <li key={`${line.time} ${index}`} class={line.level}>
                  <span class="faint">
                    {[line.time && dateTime(line.time), line.level, line.part].filter(Boolean).join(' · ')}
                  </span>
                  <span class="break">{line.message}</span>
                  {line.details && <code class="break">{line.details}</code>}
                </li>
              ))}
            </ol>
          )
        }
      </Show>
    </Section>
  );
}
