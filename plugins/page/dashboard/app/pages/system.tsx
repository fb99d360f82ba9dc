import { Page, Show, useLoaded } from '../components.tsx';
import type { Health } from '../data.ts';
import { account, api, request } from '../session.ts';
import { t } from '../texts.ts';
import { Operator } from './operator.tsx';
import { isOperator } from './readiness.tsx';

export function System() {
  const health = useLoaded('health', async (): Promise<Health> => (await request('GET', '/healthz')).json());
  const document = useLoaded('version', () =>
    api<{ info: { 'x-earshot-version': string } }>('GET', '/openapi.json'),
  );
  return (
    <Page title={t.value.system}>
      <section>
        <h2 class="section">{t.value.health}</h2>
        <Show loaded={health}>
          {({ status, parts }) => (
            <div class="card note">
              <p class={`health ${status}`}>
                <span class="light" aria-hidden="true" />
                <strong>{t.value.healthStates[status]}</strong>
              </p>
              {parts.length > 0 && (
                <ul>
                  {parts.map(part => (
                    <li key={part}>{part}</li>
                  ))}
                </ul>
              )}
              {status !== 'ok' && <p class="faint">{t.value.healthHint}</p>}
            </div>
          )}
        </Show>
      </section>
      {isOperator() ? (
        <Operator />
      ) : (
        <p class="hint">
          {t.value.operatorsOnly(`earshot user role ${account.value?.name ?? 'NAME'} operator`)}
        </p>
      )}
      <section>
        <h2 class="section">{t.value.version}</h2>
        <p class="card note">
          Earshot {document.value?.info['x-earshot-version'] ?? '…'}
          {' · '}
          <a href="/docs" target="_top">
            {t.value.interface}
          </a>
        </p>
      </section>
    </Page>
  );
}
