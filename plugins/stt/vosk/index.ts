import type { Plugin, SttSession, Transcript, Utterance } from '../../../core/contract/plugin.ts';
import { answersTo, connectSocket, type Place, within } from '../../kit/engine/socket.ts';
import { untilStopped } from '../../kit/engine/stopped.ts';
import { isRecord, parseJson } from '../../kit/kit.ts';
import { timeLimit } from '../../kit/options.ts';

interface Options {
  url: string;
  languages: string[];
  timeoutMs: number;
}

const SAMPLE_RATE = 16_000;

export default {
  name: 'vosk',
  api: 1,
  title: 'A vosk-server, over its WebSocket',
  sends: 'Speech',
  options: z =>
    z.strictObject({
      url: z
        .url({ protocol: /^wss?$/ })
        .default('ws://127.0.0.1:2700')
        .describe('Address of the server'),
      languages: z
        .array(z.string().min(2))
        .min(1)
        .default(['en'])
        .describe('Languages of its model, as ISO 639-1 codes'),
      timeoutMs: timeLimit(z, { usual: 25_000, most: 29_000 }).describe(
        'Time limit for an answer after the end of speech, in milliseconds',
      ),
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

    /** Opens one connection per utterance. */
    async function* transcribe(utterance: Utterance, signal: AbortSignal): AsyncGenerator<Transcript> {
      const { startSample } = utterance;
      const wire = await connectSocket(place, context, stopped.with(signal));
      let through = startSample;
      try {
        await wire.send(JSON.stringify({ config: { sample_rate: SAMPLE_RATE, words: true } }));
        const closed = () => error('upstream_error', 'vosk: the server closed before it had answered');
        let isAnswered = false;
        // The server closes the connection after its last answer.
        for await (const { message, isAfterEnd } of answersTo(wire, {
          utterance,
          last: '{"eof" : 1}',
          closed,
        })) {
          const said = readAnswer(message);
          if (said === null) throw error('upstream_error', 'vosk: the server does not speak the protocol');
          isAnswered ||= isAfterEnd && said.isFinal;
          if (said.text === '') continue;
          const end = utterance.endSample ?? startSample + said.end;
          const startAt = within(startSample + said.start, through, end - 1);
          through = within(startSample + said.end, startAt + 1, end);
          yield { text: said.text, startSample: startAt, endSample: through, final: true };
        }
        if (!isAnswered) throw closed();
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
  isFinal: boolean;
  /** Final text; '' for a partial result, and where nothing was said. */
  text: string;
  /** Samples from the start of the utterance. */
  start: number;
  end: number;
}

/** Reads an answer. Null: it does not follow the protocol. */
function readAnswer(message: string): Answer | null {
  const json = parseJson(message);
  if (!isRecord(json)) return null;
  if (typeof json.partial === 'string') return { isFinal: false, text: '', start: 0, end: 0 };
  if (typeof json.text !== 'string') return null;
  const words = Array.isArray(json.result) ? json.result.filter(isRecord) : [];
  const text = json.text.replaceAll(/\s+/g, ' ').trim();
  const times = [words[0]?.start, words.at(-1)?.end].map(seconds => Number(seconds) * SAMPLE_RATE);
  const [start = 0, end = 0] = times.every(Number.isFinite) ? times : [0, Number.MAX_SAFE_INTEGER];
  return { isFinal: true, text, start, end };
}
