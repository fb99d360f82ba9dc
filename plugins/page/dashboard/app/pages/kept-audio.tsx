/** Speech of a conversation that no recogniser could transcribe. It needs the token, so the browser cannot fetch it alone. */
import { useEffect, useState } from 'preact/hooks';
import { sayError, useLoaded } from '../components.tsx';
import type { KeptAudio } from '../data.ts';
import { position, time } from '../format.ts';
import { ApiError, api, request } from '../session.ts';
import { t } from '../texts.ts';

export function KeptAudios({ id }: { id: string }) {
  const audios = useLoaded(`audio ${id}`, () => api<KeptAudio[]>('GET', `/v1/conversations/${id}/audio`), [
    'conversation',
  ]);
  if (!audios.value?.length) return null;
  return (
    <section>
      <h2 class="section">{t.value.keptAudio}</h2>
      <p class="hint">{t.value.keptAudioText}</p>
      <ul class="card plain">
        {audios.value.map(audio => (
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
      const answer = await request('GET', `/v1/audio/${id}`);
      if (!answer.ok) throw new ApiError(answer.status, answer.statusText);
      setUrl(URL.createObjectURL(await answer.blob()));
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
