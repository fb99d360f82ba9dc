import { useState } from 'preact/hooks';
import { Show, say, sayError, useLoaded } from '../components.tsx';
import type { SpeechSettings } from '../data.ts';
import { StoredCheck } from '../editing.tsx';
import { api } from '../session.ts';
import { language, t } from '../texts.ts';

const PATH = '/v1/users/speech-settings';
/** Languages that are offered; the API takes others, too. */
const LANGUAGES = [
  'en',
  'de',
  'fr',
  'es',
  'it',
  'pt',
  'nl',
  'pl',
  'tr',
  'uk',
  'ru',
  'ar',
  'hi',
  'ja',
  'ko',
  'zh',
];
const USUAL_DAYS = 30;
/** Limit of the API. */
const MAX_DAYS = 36_500;

export function SpeechForm() {
  const settings = useLoaded('speech settings', () => api<SpeechSettings>('GET', PATH));
  const change = (changes: Partial<SpeechSettings>) =>
    api<SpeechSettings>('PATCH', PATH, changes).then(
      saved => {
        settings.set(saved);
        say(t.value.saved);
      },
      error => {
        sayError(error);
        void settings.reload();
      },
    );
  return (
    <Show loaded={settings}>
      {({ translate_to, label_voices, keep_audio_days }) => (
        <div class="card note fields">
          <label>
            {t.value.translateTo}
            <select
              value={translate_to ?? ''}
              onChange={event => void change({ translate_to: event.currentTarget.value || null })}
            >
              <option value="">{t.value.translateNothing}</option>
              {[...new Set([...LANGUAGES, ...(translate_to === null ? [] : [translate_to])])].map(code => (
                <option key={code} value={code}>
                  {languageName(code)}
                </option>
              ))}
            </select>
          </label>
          <label class="check">
            <StoredCheck checked={label_voices} store={checked => change({ label_voices: checked })} />
            {t.value.labelVoices}
          </label>
          <p class="hint">{t.value.labelVoicesHint}</p>
          <label class="check">
            <StoredCheck
              checked={keep_audio_days !== null}
              store={checked => change({ keep_audio_days: checked ? USUAL_DAYS : null })}
            />
            {t.value.keepAudio}
          </label>
          {keep_audio_days !== null && (
            <DaysField
              key={keep_audio_days}
              days={keep_audio_days}
              onChange={changes => void change(changes)}
            />
          )}
          <p class="hint">{t.value.keepAudioHint}</p>
        </div>
      )}
    </Show>
  );
}

function DaysField({
  days,
  onChange,
}: {
  days: number;
  onChange: (changes: Pick<SpeechSettings, 'keep_audio_days'>) => void;
}) {
  const [draft, setDraft] = useState(String(days));
  return (
    <form
      class="inline"
      onSubmit={event => {
        event.preventDefault();
        onChange({ keep_audio_days: Number(draft) });
      }}
    >
      <label>
        {t.value.keepAudioDays}
        <input
          type="number"
          required
          min={1}
          max={MAX_DAYS}
          value={draft}
          onInput={event => setDraft(event.currentTarget.value)}
        />
      </label>
      {draft !== String(days) && <button type="submit">{t.value.save}</button>}
    </form>
  );
}

function languageName(code: string): string {
  return new Intl.DisplayNames([language.value], { type: 'language' }).of(code) ?? code;
}
