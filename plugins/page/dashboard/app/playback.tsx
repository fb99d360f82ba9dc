/** Plays audio of a conversation from a line of its transcript on, one clip after the other. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon, say, sayError } from './components.tsx';
import type { KeptAudio, Segment } from './data.ts';
import { position } from './format.ts';
import { ApiError, api, request } from './session.ts';
import { t } from './texts.ts';

/** Maximum length of a clip: one that began earlier has ended. */
const LONGEST_CLIP_MS = 120_000;

const startOf = ({ started_at }: KeptAudio) => Date.parse(started_at);
const endOf = (clip: KeptAudio) => startOf(clip) + clip.seconds * 1000;

/** Loads audio as a URL of this page, as the browser cannot send the token by itself. */
export async function audioUrl(id: string): Promise<string> {
  const answer = await request('GET', `/v1/audio/${encodeURIComponent(id)}`);
  if (!answer.ok) throw new ApiError(answer.status, answer.statusText);
  return URL.createObjectURL(await answer.blob());
}

export interface Playback {
  /** Seconds since the beginning of the conversation; null: nothing is played. */
  seconds: number | null;
  play(segment: Segment): void;
  /** The player, while something is played. */
  bar: preact.ComponentChildren;
}

/** @param startedAt beginning of the conversation, from which its lines are counted */
export function usePlayback(conversationId: string, startedAt: string): Playback {
  const [playing, setPlaying] = useState<{ clip: KeptAudio; url: string; from: number } | null>(null);
  const [seconds, setSeconds] = useState<number | null>(null);
  /** Number of the latest request: answers to earlier ones are ignored. */
  const newest = useRef(0);
  useEffect(() => () => URL.revokeObjectURL(playing?.url ?? ''), [playing?.url]);
  const list = `/v1/conversations/${encodeURIComponent(conversationId)}/audio`;
  const secondsOf = (clip: KeptAudio, at: number) => (startOf(clip) - Date.parse(startedAt)) / 1000 + at;

  function close(): void {
    newest.current += 1;
    setPlaying(null);
    setSeconds(null);
  }

  /** Plays the first clip that ends after an instant (epoch ms), from there on. */
  async function playFrom(at: number): Promise<void> {
    newest.current += 1;
    const own = newest.current;
    const since = new Date(Math.max(0, at - LONGEST_CLIP_MS)).toISOString();
    const clips = (await api<KeptAudio[]>('GET', `${list}?since=${since}`)).filter(clip => clip.has_text);
    const clip = clips.find(each => endOf(each) > at);
    if (own !== newest.current) return;
    if (!clip) return close();
    const url = await audioUrl(clip.id);
    if (own !== newest.current) return URL.revokeObjectURL(url);
    const from = Math.max(0, (at - startOf(clip)) / 1000);
    setPlaying({ clip, url, from });
    setSeconds(secondsOf(clip, from));
  }

  function fail(error: unknown): void {
    close();
    sayError(error);
  }

  return {
    seconds,
    play({ start }) {
      const at = Date.parse(startedAt) + Math.round(start * 1000);
      void playFrom(at).catch(fail);
    },
    bar: playing && seconds !== null && (
      <section class="player" aria-label={t.value.player}>
        <time>{position(seconds)}</time>
        {/* biome-ignore lint/a11y/useMediaCaption: its text is the transcript */}
        <audio
          key={playing.url}
          src={playing.url}
          controls
          autoplay
          aria-label={t.value.player}
          onLoadedMetadata={event => {
            event.currentTarget.currentTime = playing.from;
          }}
          onTimeUpdate={event => setSeconds(secondsOf(playing.clip, event.currentTarget.currentTime))}
          onEnded={() => void playFrom(endOf(playing.clip)).catch(fail)}
          onError={() => {
            close();
            say(t.value.cannotPlay);
          }}
        />
        <button type="button" class="quiet icon-button" aria-label={t.value.close} onClick={close}>
          <Icon name="close" />
        </button>
      </section>
    ),
  };
}

export function PlayButton({ segment, play }: { segment: Segment } & Pick<Playback, 'play'>) {
  return (
    <button
      type="button"
      class="quiet icon-button small"
      aria-label={`${t.value.playHere}: ${position(segment.start)}`}
      title={t.value.playHere}
      onClick={() => play(segment)}
    >
      <Icon name="play" />
    </button>
  );
}
