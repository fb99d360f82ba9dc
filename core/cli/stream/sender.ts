import { randomUUID } from 'node:crypto';
import type { LoadedConfig } from '../../../config/load.ts';
import { SAMPLE_RATE, type Wav } from '../../audio/pcm.ts';
import { readRecording, toSpeech } from '../../audio/recording-file.ts';
import type { ServerEvent, WireSegment } from '../../listen/protocol.ts';
import { forTerminal } from '../../runtime/terminal.ts';
import { type Outcome, streamTo } from '../client.ts';
import { findServer } from '../running-server.ts';
import { carries, packetsOf } from './recording.ts';
import type { StreamOptions } from './stream.ts';
import { createTranscript } from './transcript.ts';

/** Time for recognising the rest and for the summary, in addition to the silence that ends a conversation. */
const FINISHING_MS = 120_000;

/** Sends the file to the server that the options name, and prints the results. */
export async function stream(file: string, options: StreamOptions, loaded: LoadedConfig): Promise<Outcome> {
  const wav = fitTo(options.codec, await readRecording(file));
  const { base, credential } = await findServer(options, loaded);
  return streamTo({
    url: listenUrl(base, wav.sampleRate, options),
    credential,
    packets: packetsOf(wav, options.codec),
    speed: options.speed,
    silenceMs: options.finish ? 0 : options.conversationTimeout * 1000,
    patienceMs: options.conversationTimeout * 1000 + FINISHING_MS,
    onEvent: options.json ? () => {} : narrator(),
  });
}

/** Uses the file's sample rate if the codec supports it, else 16 kHz. */
function fitTo(codec: StreamOptions['codec'], wav: Wav): Wav {
  if (carries(codec, wav.sampleRate)) return wav;
  return { sampleRate: SAMPLE_RATE, channels: 1, samples: Int16Array.from(toSpeech(wav)) };
}

function listenUrl(base: string, sampleRate: number, options: StreamOptions): URL {
  const url = new URL('/v4/listen', base);
  url.protocol = url.protocol.replace('http', 'ws');
  url.search = new URLSearchParams({
    codec: options.codec,
    sample_rate: String(sampleRate),
    language: options.language,
    conversation_timeout: String(options.conversationTimeout),
    source: 'desktop',
    client_device_id: `cli_${randomUUID()}`, // a conversation of its own
  }).toString();
  return url;
}

function narrator(): (event: ServerEvent | WireSegment[]) => void {
  const write = (line: string) => process.stdout.write(`${forTerminal(line)}\n`);
  const transcript = createTranscript(write);
  return event => {
    if (Array.isArray(event)) return transcript(event);
    if (event.type === 'service_status' && event.status === 'ready' && event.provider) {
      write(`Recognised by ${event.provider}.`);
    }
    if (event.type === 'memory_processing_started') write('The conversation has ended.');
  };
}

/** Summarises the outcome in words. */
export function summary({ segments, conversations }: Outcome): string {
  if (segments.length === 0) return 'No speech was heard.';
  return conversations.map(({ id, title, overview }) => `\n${title}\n${overview}\n(${id})`).join('\n');
}
