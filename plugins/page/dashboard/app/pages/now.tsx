import { useEffect, useRef } from 'preact/hooks';
import { Empty, Icon, Page, say, sayError, speakerClass, speakerName, useLoaded } from '../components.tsx';
import type { Conversation, Listening, Wearable } from '../data.ts';
import { connection, hurry } from '../feed.ts';
import { dateTime, sourceName, time } from '../format.ts';
import { conversations, devices, type LiveConversation } from '../live.ts';
import { bySegment, setMark } from '../marks.tsx';
import { level, mayRecord, recording, startRecording, stopRecording } from '../microphone.ts';
import { Failure, Skeleton } from '../notices.tsx';
import { ApiError, api, read } from '../session.ts';
import { t } from '../texts.ts';
import { ConversationRow } from './conversations.tsx';
import { FirstSteps, isOperator } from './readiness.tsx';

/** The page scrolls to new words if it is within so many pixels of the end. */
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
      {isOperator() && <FirstSteps />}
      <div class="record-row">
        <Pause />
        <Recorder />
      </div>
      {shown.map(conversation => (
        <Live key={conversation.id} conversation={conversation} />
      ))}
      {shown.length === 0 && connection.value === 'connecting' && <Skeleton rows={3} />}
      {shown.length === 0 && connection.value !== 'connecting' && (
        <>
          {connection.value === 'lost' ? (
            <Failure error={new ApiError(0, '')} retry={hurry} />
          ) : devices.value.length > 0 ? (
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

/** Live connections; wearables reported by a bridge have a name and a battery level. */
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
            {wearable?.name ?? (source === 'unknown' ? t.value.connected : sourceName(source))}
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

/** Longest delay of a browser's timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Shows whether Earshot is listening, with the button that pauses and resumes it. */
function Pause() {
  const listening = useLoaded('listening', () => api<Listening>('GET', '/v1/users/listening'), ['listening']);
  const until = listening.value?.until ?? null;
  useEffect(() => {
    if (until === null) return;
    const waitMs = Math.max(0, Date.parse(until) - Date.now());
    const timer = setTimeout(listening.reload, Math.min(waitMs, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  }, [until]);
  if (!listening.value) return null;
  const change = (path: string, body?: object) =>
    void api<Listening>('POST', `/v1/users/listening/${path}`, body).then(listening.set, sayError);
  if (!listening.value.paused)
    return (
      <button type="button" onClick={() => change('pause', { minutes: 60 })}>
        {t.value.pauseListening}
      </button>
    );
  return (
    <div class="recorder card">
      <span class="status" role="status">
        {until === null ? t.value.listeningPaused : t.value.listeningPausedUntil(dateTime(until))}
      </span>
      <button type="button" onClick={() => change('resume')}>
        {t.value.resumeListening}
      </button>
    </div>
  );
}

/** The microphone of this device. */
function Recorder() {
  if (!mayRecord()) return <p class="hint">{t.value.microphoneNeedsTls}</p>;
  if (recording.value === 'off')
    return (
      <button type="button" onClick={() => void startRecording()}>
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

function Live({
  conversation: { id, state, segments, marks, startedAt },
}: {
  conversation: LiveConversation;
}) {
  const marked = bySegment(startedAt, segments, marks);
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
        {state === 'open' && segments.length > 0 && (
          <div class="live-actions">
            <button type="button" onClick={() => void setMark(id).then(() => say(t.value.markSet), sayError)}>
              <Icon name="memories" />
              {t.value.markNow}
            </button>
            <button
              type="button"
              onClick={() => void api('POST', `/v1/conversations/${id}/finish`).catch(sayError)}
            >
              {t.value.endNow}
            </button>
          </div>
        )}
        {state !== 'open' && <a href={`/conversations/${id}`}>{t.value.openConversation}</a>}
      </header>
      <ol class="words" aria-live={state === 'open' ? 'polite' : 'off'}>
        {segments.map((segment, index) => {
          const isSame = segments[index - 1]?.speaker_name === segment.speaker_name;
          return (
            <li key={segment.id} class={speakerClass(segment)}>
              {!isSame && <b>{speakerName(segment)}</b>}
              <p>
                {segment.text}
                {marked.has(segment.id) && (
                  <span class="marked">
                    <Icon name="memories" filled />
                    <span class="hidden">{t.value.marked}</span>
                  </span>
                )}
              </p>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Recent() {
  const recent = useLoaded('recent', () => read<Conversation[]>('/v1/dev/user/conversations?limit=3'), [
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
