import { useEffect, useRef } from 'preact/hooks';
import { Empty, Icon, Page, speakerClass, useLoaded } from '../components.tsx';
import type { Conversation, Wearable } from '../data.ts';
import { connection } from '../feed.ts';
import { time } from '../format.ts';
import { conversations, devices, type LiveConversation } from '../live.ts';
import { level, mayRecord, recording, startRecording, stopRecording } from '../microphone.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';
import { ConversationRow } from './conversations.tsx';

/** Pixels from the end within which new words keep it in sight. */
const NEAR_END = 160;

export function Now() {
  const shown = conversations.value.filter(({ segments }) => segments.length > 0);
  const said = shown.reduce(
    (sum, { segments }) => sum + segments.reduce((all, s) => all + s.text.length, 0),
    0,
  );
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const main = document.getElementById('main');
    if (!main || said === 0) return;
    if (main.scrollHeight - main.scrollTop - main.clientHeight < NEAR_END)
      end.current?.scrollIntoView({ block: 'end' });
  }, [said]);
  return (
    <Page title={t.value.now} actions={<Devices />}>
      <Recorder />
      {shown.map(conversation => (
        <Live key={conversation.id} conversation={conversation} />
      ))}
      {shown.length === 0 && connection.value === 'open' && (
        <>
          {devices.value.length > 0 ? (
            <Empty icon="now" title={t.value.quiet} text={t.value.quietText} />
          ) : (
            <Empty icon="now" title={t.value.noDevice} text={t.value.noDeviceText} />
          )}
          <Recent />
        </>
      )}
      <div ref={end} />
    </Page>
  );
}

/** Live connections; those of wearables that a bridge tells of with name and battery. */
function Devices() {
  const known = useLoaded('devices', () => api<{ devices: Wearable[] }>('GET', '/v1/devices'), [
    'device',
    'device_event',
  ]);
  return (
    <ul class="chips" aria-label={t.value.devices}>
      {devices.value.map(({ device, source }) => {
        const wearable = known.value?.devices.find(({ id }) => id === device);
        const battery = wearable?.battery ?? null;
        return (
          <li key={`${source} ${device}`} class="chip live">
            <span class="pulse" aria-hidden="true" />
            {wearable?.name ?? (source === 'unknown' ? t.value.connected : source)}
            {battery !== null && (
              <span class={wearable?.low_battery ? 'late' : ''} title={t.value.battery}>
                {`${battery} %`}
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** The microphone of this device. */
function Recorder() {
  if (!mayRecord()) return <p class="hint">{t.value.microphoneNeedsTls}</p>;
  if (recording.value === 'off')
    return (
      <button type="button" class="record" onClick={() => void startRecording()}>
        <Icon name="microphone" />
        {t.value.record}
      </button>
    );
  return (
    <div class="recorder card">
      <span class="status on" role="status">
        <span class="pulse" aria-hidden="true" />
        {t.value.recordingStates[recording.value]}
      </span>
      <meter class="level" min={0} max={1} value={level.value} aria-label={t.value.level} />
      <button type="button" onClick={stopRecording}>
        {t.value.stopRecording}
      </button>
    </div>
  );
}

function Live({ conversation: { id, state, segments, startedAt } }: { conversation: LiveConversation }) {
  return (
    <section class="live-card" aria-label={state === 'open' ? t.value.listening : t.value.conversations}>
      <header>
        {state === 'open' && (
          <span class="status on">
            <span class="pulse" aria-hidden="true" />
            {t.value.listening}
          </span>
        )}
        {state === 'ended' && <span class="status">{t.value.summarising}</span>}
        {startedAt && <span class="faint">{t.value.since(time(startedAt))}</span>}
        {state !== 'open' && <a href={`/conversations/${id}`}>{t.value.openConversation}</a>}
      </header>
      <ol class="words" aria-live={state === 'open' ? 'polite' : 'off'}>
        {segments.map((segment, index) => {
          const isSame = segments[index - 1]?.speaker_name === segment.speaker_name;
          return (
            <li key={segment.id} class={speakerClass(segment)}>
              {!isSame && <b>{segment.speaker_name}</b>}
              <p>{segment.text}</p>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Recent() {
  const recent = useLoaded('recent', () => api<Conversation[]>('GET', '/v1/dev/user/conversations?limit=3'), [
    'conversation',
  ]);
  if (!recent.value?.length) return null;
  return (
    <section>
      <h2 class="section">{t.value.recent}</h2>
      <div class="card list">
        {recent.value.map(conversation => (
          <ConversationRow key={conversation.id} conversation={conversation} />
        ))}
      </div>
    </section>
  );
}
