/** Uploads recordings made elsewhere; the server turns them into conversations. */
import { useState } from 'preact/hooks';
import { Dialog, Show, sayError, useLoaded } from '../components.tsx';
import type { Recording } from '../data.ts';
import { dateTime } from '../format.ts';
import { messageOf } from '../notices.tsx';
import { api, upload } from '../session.ts';
import { t } from '../texts.ts';
import { usePolling } from './readiness.tsx';

const PATH = '/v1/recordings';
const MOST = 20;

export function ImportDialog({ onClose }: { onClose: () => void }) {
  const [sent, setSent] = useState<number | null>(null);
  const [problem, setProblem] = useState('');
  const recordings = useLoaded('recordings', () => api<Recording[]>('GET', `${PATH}?limit=${MOST}`), [
    'conversation',
  ]);
  const isBusy = recordings.value?.some(({ state }) => state === 'waiting' || state === 'running') ?? false;
  usePolling(isBusy, recordings.reload);
  async function send(input: HTMLInputElement) {
    const files = [...(input.files ?? [])];
    if (files.length === 0) return;
    setProblem('');
    setSent(0);
    try {
      await upload('/v1/conversations/from-audio', files, setSent);
      recordings.reload();
    } catch (error) {
      setProblem(messageOf(error));
    }
    setSent(null);
    input.value = '';
  }
  return (
    <Dialog title={t.value.importRecordings} onClose={onClose}>
      <p class="hint">{t.value.importHint}</p>
      <label>
        {t.value.audioFiles}
        <input
          type="file"
          multiple
          accept="audio/*,video/*,.opus,.ogg,.flac,.m4a"
          disabled={sent !== null}
          onChange={event => void send(event.currentTarget)}
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
      <Show loaded={recordings}>
        {found => (
          <ul class="versions">
            {found.map(recording => (
              <RecordingItem key={recording.id} recording={recording} reload={recordings.reload} />
            ))}
          </ul>
        )}
      </Show>
    </Dialog>
  );
}

function RecordingItem({ recording, reload }: { recording: Recording; reload: () => void }) {
  const { id, name, state, progress, error, conversation_ids, started_at, created_at } = recording;
  return (
    <li>
      <p class="break">
        <strong>{name}</strong>{' '}
        <span class="faint">{`${dateTime(started_at ?? created_at)} · ${t.value.recordingSteps[state]}`}</span>
      </p>
      {state === 'running' && <progress value={progress} max={1} aria-label={name} />}
      {error && <p class="problem">{error}</p>}
      {conversation_ids.map((conversation, index) => (
        <a key={conversation} href={`/conversations/${conversation}`}>
          {`${t.value.openConversation} ${conversation_ids.length > 1 ? index + 1 : ''}`}
        </a>
      ))}
      <button
        type="button"
        class="quiet danger"
        aria-label={`${t.value.remove}: ${name}`}
        onClick={() => void api('DELETE', `${PATH}/${id}`).then(reload, sayError)}
      >
        {t.value.remove}
      </button>
    </li>
  );
}
