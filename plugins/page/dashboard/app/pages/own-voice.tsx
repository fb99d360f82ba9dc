/** The owner's voice, and recent voice assignments that can be undone. */
import { useEffect, useState } from 'preact/hooks';
import { Show, say, sayError, useLoaded } from '../components.tsx';
import type { Person, SpeechProfile, VoiceAssignment } from '../data.ts';
import { dateTime } from '../format.ts';
import { mayRecord } from '../microphone.ts';
import { messageOf } from '../notices.tsx';
import { api, upload } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/users/speech-profile';
const ASSIGNMENTS = '/v1/voice-assignments';
/** The server needs 8 s of speech; the rest leaves room for pauses. */
const RECORD_MS = 15_000;

export function OwnVoice() {
  const profile = useLoaded('own voice', () => api<SpeechProfile>('GET', PATH));
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [recorder, setRecorder] = useState<MediaRecorder | null>(null);
  useEffect(() => () => endTracks(recorder), [recorder]);

  async function send(file: File) {
    setBusy(true);
    setProblem('');
    try {
      profile.set(await upload<SpeechProfile>(PATH, [file], () => {}));
      say(t.value.saved);
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  }
  async function record() {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const made = new MediaRecorder(stream);
      const parts: Blob[] = [];
      made.ondataavailable = ({ data }) => parts.push(data);
      made.onstop = () => {
        endTracks(made);
        setRecorder(null);
        void send(new File(parts, 'voice.webm', { type: made.mimeType }));
      };
      made.start();
      setTimeout(() => made.state === 'recording' && made.stop(), RECORD_MS);
      setRecorder(made);
    } catch {
      setProblem(t.value.microphoneRefused);
    }
  }
  return (
    <section>
      <h2 class="section">{t.value.ownVoice}</h2>
      <Show loaded={profile}>
        {({ has_profile, seconds }) => (
          <div class="card note fields">
            <p>{has_profile ? t.value.voiceKnown(Math.round(seconds)) : t.value.voiceUnknown}</p>
            {mayRecord() && (
              <button
                type="button"
                disabled={isBusy}
                onClick={() => (recorder ? recorder.stop() : void record())}
              >
                {recorder ? t.value.voiceStop : t.value.voiceRecord}
              </button>
            )}
            <label>
              {t.value.voiceFile}
              <input
                type="file"
                accept="audio/*,.opus,.ogg"
                disabled={isBusy}
                onChange={event => {
                  const [file] = event.currentTarget.files ?? [];
                  if (file) void send(file);
                }}
              />
            </label>
            <p class="problem" role="alert">
              {problem}
            </p>
            {has_profile && (
              <button
                type="button"
                class="quiet danger"
                onClick={() => void api('DELETE', PATH).then(profile.reload, sayError)}
              >
                {t.value.voiceForget}
              </button>
            )}
          </div>
        )}
      </Show>
    </section>
  );
}

function endTracks(recorder: MediaRecorder | null): void {
  for (const track of recorder?.stream.getTracks() ?? []) track.stop();
}

/** Names assigned to voices, as long as the assignment can be undone. */
export function Assignments({ people }: { people: readonly Person[] }) {
  const assignments = useLoaded('assignments', () => api<VoiceAssignment[]>('GET', ASSIGNMENTS), [
    'conversation',
  ]);
  const undoable = assignments.value?.filter(({ state }) => state !== 'undone') ?? [];
  if (undoable.length === 0) return null;
  const nameOf = (id: string | null) =>
    id === null
      ? t.value.nobody
      : id === 'user'
        ? t.value.me
        : (people.find(person => person.id === id)?.name ?? t.value.newPerson);
  return (
    <section>
      <h2 class="section">{t.value.assignments}</h2>
      <ul class="card plain">
        {undoable.map(({ id, person_id, segments, conversation_id, created_at }) => (
          <li key={id}>
            <strong class="as-is">{nameOf(person_id)}</strong>
            <a class="faint" href={`/conversations/${conversation_id}`}>
              {`${dateTime(created_at)} · ${t.value.assigned(segments)}`}
            </a>
            <span class="actions">
              <button
                type="button"
                class="quiet"
                aria-label={`${t.value.undo}: ${nameOf(person_id)}, ${dateTime(created_at)}`}
                onClick={() =>
                  void api('POST', `${ASSIGNMENTS}/${id}/undo`).then(() => {
                    say(t.value.undone);
                    assignments.reload();
                  }, sayError)
                }
              >
                {t.value.undo}
              </button>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
