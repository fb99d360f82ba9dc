import { Show, say, sayError, useLoaded } from '../components.tsx';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/users/vocabulary';

/** Words that recognisers should expect, one per line. */
export function Vocabulary() {
  const loaded = useLoaded('vocabulary', () => api<{ words: string[] }>('GET', PATH));
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get('words'));
    const words = text.split('\n').map(word => word.trim());
    try {
      loaded.set(await api<{ words: string[] }>('PUT', PATH, { words: words.filter(Boolean) }));
      say(t.value.saved);
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <Show loaded={loaded}>
      {({ words }) => (
        <form class="card note fields" onSubmit={submit}>
          <label>
            {t.value.vocabularyText}
            <textarea name="words" rows={4} defaultValue={words.join('\n')} />
          </label>
          <button type="submit">{t.value.save}</button>
        </form>
      )}
    </Show>
  );
}
