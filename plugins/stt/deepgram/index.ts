import type { Plugin, SttHints, SttSession, Transcript, Utterance } from '../../../core/contract/plugin.ts';
import { connectSocket, type Place, sendSpeech, type Wire } from '../../kit/engine/socket.ts';
import { untilStopped } from '../../kit/engine/stopped.ts';
import { accountKey, timeLimit } from '../../kit/options.ts';
import { piecesOf, readResults, voicesOf } from './results.ts';

interface Options {
  apiKey: string;
  url: string;
  model: string;
  diarize: boolean;
  timeoutMs: number;
}

const SAMPLE_RATE = 16_000;
/** Deepgram closes a connection that sends no audio for 10 s. */
const KEEP_ALIVE_MS = 5000;
const MAX_KEYTERMS = 100;
const SLACK_SAMPLES = 160;

export default {
  name: 'deepgram',
  api: 1,
  title: "Deepgram's streaming recognition, in the cloud or on premises",
  sends: 'Speech',
  options: z =>
    z.strictObject({
      apiKey: accountKey(z).describe('Key of your account'),
      url: z
        .url({ protocol: /^wss?$/ })
        .default('wss://api.deepgram.com/v1/listen')
        .describe('Address of the service'),
      model: z.string().min(1).max(100).default('nova-3').describe('Name of the model'),
      diarize: z.boolean().default(true).describe('Whether it separates voices'),
      timeoutMs: timeLimit(z, { usual: 25_000, most: 29_000 }).describe(
        'Time limit for an answer after the end of speech, in milliseconds',
      ),
    }),
  setup(context) {
    const { options, error, clock } = context;
    const stopped = untilStopped(context, 'deepgram');

    /** Builds the parameters of a connection. */
    function placeFor({ language, vocabulary = [] }: SttHints): Place {
      const url = new URL(options.url);
      const query: Record<string, string> = {
        model: options.model,
        language,
        encoding: 'linear16',
        sample_rate: String(SAMPLE_RATE),
        channels: '1',
        interim_results: 'true',
        punctuate: 'true',
        smart_format: 'true',
        diarize: String(options.diarize),
      };
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      // Nova-3 takes key terms, the models before it keywords.
      const terms = options.model.startsWith('nova-3') ? 'keyterm' : 'keywords';
      for (const word of vocabulary.slice(0, MAX_KEYTERMS)) url.searchParams.append(terms, word);
      return {
        plugin: 'deepgram',
        url,
        headers: { authorization: `Token ${options.apiKey}` },
        timeoutMs: options.timeoutMs,
        options: { url: 'url', key: 'apiKey' },
      };
    }

    async function open(hints: SttHints): Promise<SttSession> {
      hints.signal.throwIfAborted();
      const place = placeFor(hints);
      const closing = new AbortController();
      const life = stopped.with(closing.signal);
      /** Voices distinguished so far, on all its connections. */
      let voices = 0;
      let line = await connect(hints.signal);

      /** Opens a connection, which lives as long as the session; `signal` only ends the wait for it. */
      async function connect(signal: AbortSignal): Promise<Line> {
        const until = AbortSignal.any([signal, life]);
        const wire = await connectSocket(place, context, life);
        if (until.aborted) wire.close();
        until.throwIfAborted();
        return { wire, sent: 0, firstSpeaker: voices };
      }

      async function* transcribe(utterance: Utterance, signal: AbortSignal): AsyncGenerator<Transcript> {
        signal.throwIfAborted();
        if (!line.wire.isOpen) line = await connect(signal);
        const current = line;
        const abort = () => current.wire.fail(signal.reason);
        signal.addEventListener('abort', abort, { once: true });
        let isHeard = false;
        try {
          yield* hear(current, utterance, count => {
            voices = Math.max(voices, current.firstSpeaker + count);
          });
          isHeard = true;
        } finally {
          signal.removeEventListener('abort', abort);
          // Results of this utterance that come late must not be taken for the next one's.
          if (!isHeard) current.wire.fail(error('upstream_error', 'deepgram: its reader left'));
        }
      }

      void keepAlive(() => line.wire, life);
      return {
        transcribe,
        failed: stopped.failed,
        async close() {
          if (line.wire.isOpen) await line.wire.send('{"type":"CloseStream"}').catch(() => undefined);
          line.wire.close();
          closing.abort(error('upstream_error', 'deepgram: the session is closed'));
        },
      };
    }

    async function* hear(
      line: Line,
      utterance: Utterance,
      onVoices: (count: number) => void,
    ): AsyncGenerator<Transcript> {
      const { wire, firstSpeaker } = line;
      const base = line.sent;
      const sent = sendSpeech(wire, utterance, '{"type":"Finalize"}');
      let through = utterance.startSample;
      for (;;) {
        const message = await wire.next();
        if (message === null) throw error('upstream_error', 'deepgram: it closed before it had answered');
        const results = readResults(message);
        if (results === null) throw error('upstream_error', 'deepgram: it does not speak the protocol');
        if (results.isFinal) {
          onVoices(voicesOf(results));
          for (const piece of piecesOf(results, { utterance, base, through, firstSpeaker })) {
            through = piece.endSample;
            yield piece;
          }
        }
        const spoken = utterance.endSample === undefined ? null : utterance.endSample - utterance.startSample;
        // Where nothing is left to finalize, the response may have no text.
        const isAll =
          results.isFinal && spoken !== null && results.end * SAMPLE_RATE >= base + spoken - SLACK_SAMPLES;
        if (!results.isFinalized && !isAll) continue;
        const callOff = await sent;
        if (callOff === null) continue; // the connection ended before the speech did; the error follows
        callOff();
        line.sent = base + (utterance.endSample ?? utterance.startSample) - utterance.startSample;
        return;
      }
    }

    /** Sends `KeepAlive` at a fixed interval, also during speech, where it does no harm. */
    async function keepAlive(wire: () => Wire, life: AbortSignal): Promise<void> {
      while (!life.aborted) {
        await clock.sleep(KEEP_ALIVE_MS, life).catch(() => undefined);
        if (!life.aborted && wire().isOpen)
          await wire()
            .send('{"type":"KeepAlive"}')
            .catch(() => undefined);
      }
    }

    return { stt: { sampleRate: 16000, languages: 'any', model: options.model, open } };
  },
} satisfies Plugin<Options>;

/** A connection, with the number of samples sent over it for earlier utterances. */
interface Line {
  wire: Wire;
  sent: number;
  /** Number of the label that its first voice has. */
  firstSpeaker: number;
}
