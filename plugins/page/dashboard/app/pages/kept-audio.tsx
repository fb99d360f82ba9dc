/** Speech of a conversation that no recogniser could transcribe. */
import { useEffect, useState } from 'preact/hooks';
import { sayError } from '../components.tsx';
import type { KeptAudio } from '../data.ts';
import { position, time } from '../format.ts';
import { audioUrl } from '../playback.tsx';
import { t } from '../texts.ts';

/** @param audios all kept audio of the conversation */
export function Untranscribed({ audios }: { audios: readonly KeptAudio[] }) {
  const found = audios.filter(({ has_text }) => !has_text);
  if (found.length === 0) return null;
  return (
    <section>
      <h2 class="section">{t.value.keptAudio}</h2>
      <p class="hint">{t.value.keptAudioText}</p>
      <ul class="card plain">
        {found.map(audio => (
          <li key={audio.id}>
            <span>{time(audio.started_at)}</span>
            <span class="faint">{position(audio.seconds)}</span>
            <Player audio={audio} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Player({ audio: { id, started_at } }: { audio: KeptAudio }) {
  const [url, setUrl] = useState('');
  const [isBusy, setBusy] = useState(false);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);

  async function load(): Promise<void> {
    setBusy(true);
    try {
      setUrl(await audioUrl(id));
    } catch (error) {
      sayError(error);
    }
    setBusy(false);
  }

  const name = `${t.value.listen}: ${time(started_at)}`;
  if (url !== '')
    // biome-ignore lint/a11y/useMediaCaption: it is here because it has no text
    return <audio src={url} controls autoplay aria-label={name} />;
  return (
    <button type="button" aria-label={name} disabled={isBusy} onClick={() => void load()}>
      {t.value.listen}
    </button>
  );
}
