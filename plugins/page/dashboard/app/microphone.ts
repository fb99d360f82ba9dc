/** Records with the microphone of this device, like a wearable; unacknowledged audio is sent again. */
import { signal } from '@preact/signals';
import { sayError } from './components.tsx';
import { ApiError, freshToken } from './session.ts';
import { language, t } from './texts.ts';

export type RecordingState = 'off' | 'starting' | 'on' | 'waiting';

export const recording = signal<RecordingState>('off');
/** Loudness of the last tenth of a second, from 0 to 1. */
export const level = signal(0);

/** Maximum queued messages of a tenth of a second each: two minutes. */
const MAX_HELD = 1200;
const RETRY_MS = 2000;
/** Close code after which a retry is useless, unless the token has just expired. */
const REFUSED = 1008;

let stop: (() => void) | null = null;

/** Browsers offer the microphone only over HTTPS and on localhost. */
export const mayRecord = (): boolean => window.isSecureContext && navigator.mediaDevices !== undefined;

export async function startRecording(): Promise<void> {
  if (stop) return;
  recording.value = 'starting';
  const ending = new AbortController();
  stop = () => ending.abort();
  try {
    const media = await navigator.mediaDevices.getUserMedia({
      audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true },
    });
    const context = new AudioContext();
    ending.signal.addEventListener('abort', () => {
      for (const track of media.getTracks()) track.stop();
      void context.close();
    });
    await context.audioWorklet.addModule(new URL('./recorder.js', import.meta.url));
    const recorder = new AudioWorkletNode(context, 'recorder', { numberOfOutputs: 0 });
    const uplink = createUplink(context.sampleRate, ending.signal);
    recorder.port.onmessage = ({ data }: MessageEvent<Int16Array<ArrayBuffer>>) => {
      level.value = loudness(data);
      uplink.push(data);
    };
    context.createMediaStreamSource(media).connect(recorder);
  } catch (error) {
    stopRecording();
    const isRefused = error instanceof DOMException && error.name === 'NotAllowedError';
    sayError(isRefused ? new Error(t.value.microphoneRefused) : error);
  }
}

export function stopRecording(): void {
  stop?.();
  stop = null;
  recording.value = 'off';
  level.value = 0;
}

function loudness(samples: Int16Array): number {
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  return peak / 0x7fff;
}

/** One audio stream, which may span several connections. */
function createUplink(sampleRate: number, signal: AbortSignal) {
  const stream = crypto.randomUUID();
  /** Messages without acknowledgement; the first one is number `first` of the stream. */
  let held: Int16Array<ArrayBuffer>[] = [];
  let first = 0;
  let socket: WebSocket | null = null;
  let isOpen = false;

  function confirm(count: number): void {
    held = held.slice(Math.max(0, count - first));
    first = Math.max(first, count);
  }

  async function connect(): Promise<void> {
    const token = await freshToken();
    if (signal.aborted) return;
    const query = new URLSearchParams({
      ...{
        codec: 'pcm16',
        sample_rate: String(sampleRate),
        language: language.value,
        stream,
        ack: 'enabled',
      },
      source: matchMedia('(pointer: coarse)').matches ? 'phone' : 'desktop',
      from: String(first),
    });
    const opened = new WebSocket(`/v4/web/listen?${query}`);
    socket = opened;
    opened.onopen = () => opened.send(JSON.stringify({ type: 'auth', token }));
    opened.onmessage = ({ data }) => {
      const message = JSON.parse(String(data));
      if (message.type === 'ack') confirm(message.messages);
      if (message.type !== 'conversation_session') return;
      if (typeof message.received === 'number') confirm(message.received);
      if (isOpen) return; // start of the next conversation
      isOpen = true;
      recording.value = 'on';
      for (const samples of held) opened.send(samples);
    };
    opened.onclose = ({ code, reason }) => {
      isOpen = false;
      if (signal.aborted) return;
      if (code === REFUSED && !reason.includes('expired')) {
        stopRecording();
        sayError(new Error(reason));
        return;
      }
      recording.value = 'waiting';
      setTimeout(() => void connect().catch(again), RETRY_MS);
    };
  }

  function again(error: unknown): void {
    if (signal.aborted) return;
    if (error instanceof ApiError && error.status === 401) {
      stopRecording();
      return;
    }
    recording.value = 'waiting';
    setTimeout(() => void connect().catch(again), RETRY_MS);
  }

  signal.addEventListener('abort', () => socket?.close(1000));
  void connect().catch(again);
  return {
    push(samples: Int16Array<ArrayBuffer>): void {
      held.push(samples);
      if (held.length > MAX_HELD) {
        held.shift();
        first += 1;
      }
      if (isOpen && socket?.readyState === WebSocket.OPEN) socket.send(samples); // otherwise the socket is closing
    },
  };
}
