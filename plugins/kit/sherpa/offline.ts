/** Recognition by models that process an utterance as a whole, once it has ended. */
import type { Hints } from '../engine/messages.ts';
import type { Recogniser } from '../engine/serve.ts';
import { readable } from './readable.ts';
import type { kindOf } from './sherpa-kinds.ts';

/** The part of sherpa-onnx-node that is used. */
export interface OfflineRecognizer {
  createStream(hotwords?: string): OfflineStream;
  /** Affects the streams that are decoded from then on. */
  setConfig(config: object): void;
  decode(stream: OfflineStream): void;
  getResult(stream: OfflineStream): { text: string; lang?: string };
}
interface OfflineStream {
  acceptWaveform(audio: { samples: Float32Array; sampleRate: number }): void;
}

interface OfflineOptions {
  recogniser: OfflineRecognizer;
  kind: ReturnType<typeof kindOf>;
  /** Returns the whole configuration for a language; '' detects it. */
  config(language: string): object;
  hotwords(vocabulary: Hints['vocabulary']): string;
  /** Default language of a model that cannot detect it. */
  first: string;
}

const SAMPLE_RATE = 16_000;
/** Minimum length: shorter audio contains no word, and some models fail on it. */
const LEAST_SAMPLES = 0.1 * SAMPLE_RATE;

export function createOffline({ recogniser, kind, config, hotwords, first }: OfflineOptions): Recogniser {
  let language = kind.needsLanguage ? first : '';

  function speak(wanted: string) {
    if (!kind.takesLanguage || wanted === language) return;
    recogniser.setConfig(config(wanted));
    language = wanted;
  }

  function recognise(samples: Float32Array, hints: Hints) {
    const [spoken = ''] = hints.language.split('-');
    speak(spoken === 'multi' ? (kind.needsLanguage ? first : '') : spoken);
    const words = hotwords(hints.vocabulary);
    const stream = words === '' ? recogniser.createStream() : recogniser.createStream(words);
    stream.acceptWaveform({ samples, sampleRate: SAMPLE_RATE });
    recogniser.decode(stream);
    return recogniser.getResult(stream);
  }

  return {
    begin(startSample, emit, hints) {
      const parts: Int16Array[] = [];
      return {
        feed: samples => void parts.push(samples),
        finish() {
          const samples = joined(parts);
          if (samples.length < LEAST_SAMPLES) return;
          const { text, lang } = recognise(samples, hints);
          const endSample = startSample + samples.length;
          emit({ text: readable(text), startSample, endSample, ...languageOf(lang) });
        },
        release: () => undefined,
      };
    },
  };
}

/** `en`, or `<|en|>` as some models write it. */
function languageOf(lang = ''): { language?: string } {
  const code = /^(?:<\|)?([a-z]{2})(?:\|>)?$/.exec(lang)?.[1];
  return code === undefined ? {} : { language: code };
}

function joined(parts: readonly Int16Array[]): Float32Array {
  const samples = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) for (const sample of part) samples[at++] = sample / 32_768;
  return samples;
}
