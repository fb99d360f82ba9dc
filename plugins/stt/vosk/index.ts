import type { Plugin, SttSession, Transcript, Utterance } from '../../../core/contract/plugin.ts';
import { connectSocket, type Place, sendSpeech, within } from '../../kit/engine/socket.ts';
import { untilStopped } from '../../kit/engine/stopped.ts';
import { isRecord, parseJson } from '../../kit/kit.ts';

interface Options {
  url: string;
  languages: string[];
  timeoutMs: number;
}

const SAMPLE_RATE = 16_000;

export default {
  name: 'vosk',
  api: 1,
  title: 'A vosk-server, over its WebSocket. Speech is sent there',
  options: z =>
    z.strictObject({
      url: z
        .url({ protocol: /^wss?$/ })
        .default('ws://127.0.0.1:2700')
        .describe('Where the server is'),
      languages: z
        .array(z.string().min(2))
        .min(1)
        .default(['en'])
        .describe('Languages of its model, as ISO 639-1 codes'),
      timeoutMs: z.coerce
        .number()
        .int()
        .min(100)
        .max(29_000)
        .default(25_000)
        .describe('After the end of the speech an answer takes no longer than this, in milliseconds'),
    }),
  setup(context) {
    const { options, error } = context;
    const stopped = untilStopped(context, 'vosk');
    const place: Place = {
      plugin: 'vosk',
      url: new URL(options.url),
      timeoutMs: options.timeoutMs,
      options: { url: 'url' },
    };

    async function open({ signal }: { signal: AbortSignal }): Promise<SttSession> {
      (await connectSocket(place, context, stopped.with(signal))).close();
      return { transcribe, failed: stopped.failed, close: async () => undefined };
    }

    /** A connection of its own for each utterance: the end of the speech ends it. */
    async function* transcribe(utterance: Utterance, signal: AbortSignal): AsyncGenerator<Transcript> {
      const { startSample } = utterance;
      const wire = await connectSocket(place, context, stopped.with(signal));
      let through = startSample;
      try {
        await wire.send(JSON.stringify({ config: { sample_rate: SAMPLE_RATE, words: true } }));
        const sent = sendSpeech(wire, utterance, '{"eof" : 1}'); // what the server has answered, it closes
        for (let message = await wire.next(); message !== null; message = await wire.next()) {
          const said = readAnswer(message);
          if (said === null) throw error('upstream_error', 'vosk: the server does not speak the protocol');
          if (said.text === '') continue;
          const end = utterance.endSample ?? startSample + said.end;
          const startAt = within(startSample + said.start, through, end - 1);
          through = within(startSample + said.end, startAt + 1, end);
          yield { text: said.text, startSample: startAt, endSample: through, final: true };
        }
        (await sent)();
      } finally {
        wire.close();
      }
    }

    return {
      stt: { sampleRate: 16000, languages: options.languages, model: null, plain: true, open },
    };
  },
} satisfies Plugin<Options>;

interface Answer {
  /** '' where nothing was said, or it is not final yet. */
  text: string;
  /** Samples from the start of the utterance. */
  start: number;
  end: number;
}

/** Null: it is no answer of this protocol. */
function readAnswer(message: string): Answer | null {
  const json = parseJson(message);
  if (!isRecord(json)) return null;
  if (typeof json.partial === 'string') return { text: '', start: 0, end: 0 };
  if (typeof json.text !== 'string') return null;
  const words = Array.isArray(json.result) ? json.result.filter(isRecord) : [];
  const text = json.text.replaceAll(/\s+/g, ' ').trim();
  const times = [words[0]?.start, words.at(-1)?.end].map(seconds => Number(seconds) * SAMPLE_RATE);
  const [start = 0, end = 0] = times.every(Number.isFinite) ? times : [0, Number.MAX_SAFE_INTEGER];
  return { text, start, end };
}
