import { type Loaded, Show, sayError } from '../components.tsx';
import type { Model } from '../data.ts';
import { size } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';
import { DownloadModel } from './readiness.tsx';

const LANGUAGES_SHOWN = 6;

/** Models that the server knows; installed ones first. */
export function Models({ models }: { models: Loaded<{ models: Model[] }> }) {
  return (
    <Show loaded={models}>
      {({ models: all }) => (
        <ul class="card plain stacked">
          {[...all.filter(({ installed }) => installed), ...all.filter(({ installed }) => !installed)].map(
            model => (
              <li key={model.name}>
                <strong>{model.about}</strong>
                <p class="faint break">{model.name}</p>
                <p class="faint">
                  {[model.plugin, size(model.bytes), languagesOf(model.languages), model.licence].join(' · ')}
                </p>
                <span class="buttons">
                  {model.installed && <span class="status on">{t.value.installed}</span>}
                  <DownloadModel model={model} models={models} />
                  {model.installed && (
                    <button
                      type="button"
                      class="quiet danger"
                      aria-label={`${t.value.remove}: ${model.name}`}
                      onClick={() =>
                        void api('DELETE', `/v1/system/models/${encodeURIComponent(model.name)}`).then(
                          models.reload,
                          sayError,
                        )
                      }
                    >
                      {t.value.remove}
                    </button>
                  )}
                </span>
              </li>
            ),
          )}
        </ul>
      )}
    </Show>
  );
}

function languagesOf(languages: readonly string[]): string {
  return languages.length > LANGUAGES_SHOWN ? t.value.languageCount(languages.length) : languages.join(' ');
}
