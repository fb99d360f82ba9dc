/** Voice samples of a person: heard again where audio is kept, uploaded, and deleted. */
import { useEffect, useState } from 'preact/hooks';
import { Show, say, sayError, useLoaded } from '../components.tsx';
import type { Conversation, KeptAudio, Person, Segment, VoiceSample } from '../data.ts';
import { shortDate } from '../format.ts';
import { messageOf } from '../notices.tsx';
import { usePlayback } from '../playback.tsx';
import { api, upload } from '../session.ts';
import { t } from '../texts.ts';

export function VoiceSamples({ person }: { person: Person }) {
  const path = `/v1/people/${person.id}/samples`;
  const samples = useLoaded(person.id, () => api<VoiceSample[]>('GET', path));
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);

  async function send(input: HTMLInputElement) {
    const [file] = input.files ?? [];
    if (!file) return;
    setBusy(true);
    setProblem('');
    try {
      samples.set(await upload<VoiceSample[]>(path, [file], () => {}));
      say(t.value.saved);
    } catch (error) {
      setProblem(messageOf(error));
    }
    input.value = ''; // the same file can be chosen again
    setBusy(false);
  }
  return (
    <section>
      <h3 class="section">{t.value.voiceSamples}</h3>
      <Show loaded={samples}>
        {found => (
          <ul class="versions">
            {found.length === 0 && <li class="faint">{t.value.noVoiceSamples}</li>}
            {found.map(sample => (
              <Sample key={sample.id} sample={sample} reload={samples.reload} />
            ))}
          </ul>
        )}
      </Show>
      <label>
        {t.value.sampleFile(person.name)}
        <input
          type="file"
          accept="audio/*,.opus,.ogg"
          disabled={isBusy}
          onChange={event => void send(event.currentTarget)}
        />
      </label>
      <p class="problem" role="alert">
        {problem}
      </p>
    </section>
  );
}

function Sample({ sample, reload }: { sample: VoiceSample; reload: () => void }) {
  const { id, seconds, created_at, conversation_id, speaker_id, is_usable } = sample;
  const day = shortDate(created_at);
  return (
    <li>
      <span>
        {`${day} · ${Math.round(seconds)} s · `}
        {conversation_id === null ? (
          t.value.recordedSample
        ) : (
          <a href={`/conversations/${conversation_id}`}>{t.value.fromConversation}</a>
        )}
      </span>
      {!is_usable && <span class="faint">{t.value.unusableSample}</span>}
      {conversation_id !== null && speaker_id !== null && (
        <Hear conversationId={conversation_id} speakerId={speaker_id} day={day} />
      )}
      <button
        type="button"
        class="quiet danger"
        aria-label={`${t.value.remove}: ${day}`}
        onClick={() => api('DELETE', `/v1/voice-samples/${id}`).then(reload, sayError)}
      >
        {t.value.remove}
      </button>
    </li>
  );
}

/** Offers to hear the voice in its conversation, if audio of that is kept. */
function Hear({
  conversationId,
  speakerId,
  day,
}: {
  conversationId: string;
  speakerId: number;
  day: string;
}) {
  const audios = useLoaded(conversationId, () =>
    api<KeptAudio[]>('GET', `/v1/conversations/${conversationId}/audio`),
  );
  const [heard, setHeard] = useState<{ startedAt: string; line: Segment } | null>(null);
  if (!audios.value?.some(({ has_text }) => has_text)) return null;

  async function load() {
    try {
      const path = `/v1/dev/user/conversations/${conversationId}?include_transcript=true`;
      const found = await api<Conversation>('GET', path);
      const lines = found.transcript_segments?.filter(({ speaker_id }) => speaker_id === speakerId) ?? [];
      const [line] = lines.sort((a, b) => b.end - b.start - (a.end - a.start));
      if (line) setHeard({ startedAt: found.started_at ?? found.created_at, line });
    } catch (error) {
      sayError(error);
    }
  }
  if (heard) return <Heard conversationId={conversationId} {...heard} />;
  return (
    <button type="button" aria-label={`${t.value.listen}: ${day}`} onClick={() => void load()}>
      {t.value.listen}
    </button>
  );
}

function Heard({
  conversationId,
  startedAt,
  line,
}: {
  conversationId: string;
  startedAt: string;
  line: Segment;
}) {
  const { play, bar } = usePlayback(conversationId, startedAt);
  useEffect(() => play(line), []);
  return <>{bar}</>;
}
