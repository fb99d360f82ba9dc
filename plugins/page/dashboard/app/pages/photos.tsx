/**
 * The photos of a conversation. They are fetched by script, because an `img` element cannot send the token.
 */
import { useEffect, useState } from 'preact/hooks';
import { Dialog, later, sayError, useLoaded } from '../components.tsx';
import type { Photo } from '../data.ts';
import { time } from '../format.ts';
import { ApiError, api, request } from '../session.ts';
import { t } from '../texts.ts';

export function Photos({ id }: { id: string }) {
  const photos = useLoaded(id, () => api<Photo[]>('GET', `/v1/conversations/${id}/photos`), ['conversation']);
  const [open, setOpen] = useState<Photo | null>(null);
  const [gone, setGone] = useState<readonly string[]>([]);
  const shown = photos.value?.filter(photo => !photo.discarded && !gone.includes(photo.id)) ?? [];
  if (shown.length === 0) return null;

  function remove(photo: Photo) {
    setOpen(null);
    setGone(before => [...before, photo.id]);
    later(
      t.value.deleted,
      () => api('DELETE', `/v1/photos/${photo.id}`, undefined, { keepalive: true }),
      () => setGone(before => before.filter(each => each !== photo.id)),
    );
  }
  return (
    <section>
      <h2 class="section">{t.value.photos}</h2>
      <ul class="photos">
        {shown.map(photo => (
          <li key={photo.id}>
            <button
              type="button"
              aria-label={photo.description ?? `${t.value.photo}, ${time(photo.created_at)}`}
              onClick={() => setOpen(photo)}
            >
              <Picture photo={photo} size="small" />
            </button>
          </li>
        ))}
      </ul>
      {open && (
        <Dialog title={`${t.value.photo}, ${time(open.created_at)}`} onClose={() => setOpen(null)}>
          <Picture photo={open} size="whole" />
          {open.description && <p>{open.description}</p>}
          <button type="button" class="quiet danger" onClick={() => remove(open)}>
            {t.value.remove}
          </button>
        </Dialog>
      )}
    </section>
  );
}

function Picture({ photo, size }: { photo: Photo; size: 'small' | 'whole' }) {
  const [url, setUrl] = useState('');
  useEffect(() => {
    let isOver = false;
    let made = '';
    read(`/v1/photos/${photo.id}?size=${size}`).then(blob => {
      if (isOver) return;
      made = URL.createObjectURL(blob);
      setUrl(made);
    }, sayError);
    return () => {
      isOver = true;
      if (made !== '') URL.revokeObjectURL(made);
    };
  }, [photo.id, size]);
  if (url === '') return <span class="skeleton" />;
  return <img src={url} alt={photo.description ?? ''} width={photo.width} height={photo.height} />;
}

async function read(path: string): Promise<Blob> {
  const answer = await request('GET', path);
  if (!answer.ok) throw new ApiError(answer.status, answer.statusText);
  return answer.blob();
}
