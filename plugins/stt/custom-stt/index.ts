import type { Plugin, SttSession, Transcript, Utterance } from '../../../core/contract/plugin.ts';
import { answersTo, connectSocket, type Place, within } from '../../kit/engine/socket.ts';
import { untilStopped } from '../../kit/engine/stopped.ts';
import { isRecord, parseJson } from '../../kit/kit.ts';
import { accountKey, timeLimit } from '../../kit/options.ts';

interface Options {
  url: string;
  apiKey?: string | undefined;
  languages: 'any' | string[];
  timeoutMs: number;
}

const SAMPLE_RATE = 16_000;
const MAX_SEGMENTS = 1000;
const SPEAKER = /^SPEAKER_\d{2,4}$/;

export default {
  name: 'custom-stt',
  api: 1,
  title:
    'A recognition service of your own: audio as binary messages over a WebSocket, segments as JSON back',
  sends: 'Speech',
  options: z =>
    z.strictObject({
      url: z
        .url({ protocol: /^wss?$/ })
        .default('ws://127.0.0.1:8421')
        .describe('Address of the service; `{language}` in it is replaced by the language of the speech'),
      apiKey: accountKey(z)
        .optional()
        .describe('Key, sent as `Authorization: Bearer`, if the service requires one'),
      languages: z
        .union([z.literal('any'), z.array(z.string().min(2)).min(1)])
        .default('any')
        .describe('Languages to use it for, as ISO 639-1 codes; any: all of them'),
      timeoutMs: timeLimit(z, { usual: 25_000, most: 29_000 }).describe(
        'Time limit for an answer after the end of speech, in milliseconds',
      ),
    }),
  setup(context) {
    const { options, error } = context;
    const stopped = untilStopped(context, 'custom-stt');

    function placeFor(language: string): Place {
      return {
        plugin: 'custom-stt',
        url: new URL(options.url.replaceAll(/\{language\}|%7Blanguage%7D/gi, encodeURIComponent(language))),
        headers: options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` },
        timeoutMs: options.timeoutMs,
        options: { url: 'url', key: 'apiKey' },
      };
    }

    async function open(hints: { language: string; signal: AbortSignal }): Promise<SttSession> {
      const place = placeFor(hints.language);
      (await connectSocket(place, context, stopped.with(hints.signal))).close();
      return {
        transcribe: (utterance, signal) => transcribe(place, utterance, signal),
        failed: stopped.failed,
        close: async () => undefined,
      };
    }

    /** Opens one connection per utterance. `CloseStream` ends the speech; the service closes once it has answered. */
    async function* transcribe(
      place: Place,
      utterance: Utterance,
      signal: AbortSignal,
    ): AsyncGenerator<Transcript> {
      const wire = await connectSocket(place, context, stopped.with(signal));
      let through = utterance.startSample;
      try {
        const last = '{"type":"CloseStream"}';
        const closed = () =>
          error('upstream_error', 'custom-stt: the service closed before the speech had ended');
        for await (const { message } of answersTo(wire, { utterance, last, closed })) {
          const segments = readSegments(message);
          if (segments === null)
            throw error('upstream_error', 'custom-stt: the service does not speak the protocol');
          for (const segment of segments) {
            const piece = pieceOf(segment, utterance, through);
            through = piece.endSample;
            yield piece;
          }
        }
      } finally {
        wire.close();
      }
    }

    return { stt: { sampleRate: 16000, languages: options.languages, model: null, open } };
  },
} satisfies Plugin<Options>;

interface Segment {
  text: string;
  speaker: string | null;
  /** Seconds from the start of the utterance; null: the service does not give them. */
  start: number | null;
  end: number | null;
}

/** Reads a message. Empty for one of another type; null: it does not follow the protocol. */
function readSegments(message: string): Segment[] | null {
  const json = parseJson(message);
  if (!isRecord(json)) return null;
  if (json.type !== undefined && json.type !== 'Results') return [];
  if (!Array.isArray(json.segments) || json.segments.length > MAX_SEGMENTS) return null;
  const segments = json.segments.map(readSegment);
  return segments.includes(null)
    ? null
    : (segments.filter(each => each !== null && each.text !== '') as Segment[]);
}

function readSegment(value: unknown): Segment | null {
  if (!isRecord(value) || typeof value.text !== 'string') return null;
  return {
    text: value.text.replaceAll(/\s+/g, ' ').trim(),
    speaker: typeof value.speaker === 'string' && SPEAKER.test(value.speaker) ? value.speaker : null,
    start: secondsOf(value.start),
    end: secondsOf(value.end),
  };
}

function secondsOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** A segment without times, while the utterance still grows, is placed where the previous one ended. */
function pieceOf({ text, speaker, start, end }: Segment, utterance: Utterance, through: number): Transcript {
  const { startSample, endSample } = utterance;
  const last = endSample ?? (end === null ? through + 1 : startSample + Math.round(end * SAMPLE_RATE));
  const at = (seconds: number | null, otherwise: number) =>
    seconds === null ? otherwise : startSample + seconds * SAMPLE_RATE;
  const from = within(at(start, through), through, last - 1);
  const to = within(at(end, last), from + 1, last);
  return { text, startSample: from, endSample: to, final: true, ...(speaker === null ? {} : { speaker }) };
}
