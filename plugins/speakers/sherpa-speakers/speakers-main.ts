/** The process in which sherpa-onnx computes voice vectors. */
import { createRequire } from 'node:module';
import type { Piece } from '../../kit/engine/messages.ts';
import { type Decoding, type Recogniser, serve } from '../../kit/engine/serve.ts';

/** Used part of sherpa-onnx-node. Every call blocks. */
interface Sherpa {
  SpeakerEmbeddingExtractor: new (config: { model: string; numThreads: number; debug: boolean }) => Extractor;
}
interface Extractor {
  createStream(): Stream;
  isReady(stream: Stream): boolean;
  /** @param external whether the result may be an external buffer, which some builds of Node refuse */
  compute(stream: Stream, external: boolean): Float32Array;
}
interface Stream {
  acceptWaveform(audio: { samples: Float32Array; sampleRate: number }): void;
  inputFinished(): void;
}

interface SpeakersOptions {
  path: string;
  numThreads: number;
}

const SAMPLE_RATE = 16_000;

serve(options => load(options as SpeakersOptions));

function load({ path, numThreads }: SpeakersOptions): Recogniser {
  const sherpa: Sherpa = createRequire(import.meta.url)('sherpa-onnx-node');
  const extractor = new sherpa.SpeakerEmbeddingExtractor({ model: path, numThreads, debug: false });
  return { begin: (startSample, emit) => embed(extractor, startSample, emit) };
}

function embed(extractor: Extractor, startSample: number, emit: (piece: Piece) => void): Decoding {
  const stream = extractor.createStream();
  let fed = 0;
  return {
    feed(samples) {
      fed += samples.length;
      stream.acceptWaveform({
        samples: Float32Array.from(samples, sample => sample / 32_768),
        sampleRate: SAMPLE_RATE,
      });
    },
    finish() {
      stream.inputFinished();
      if (!extractor.isReady(stream)) throw new Error('it is too short for a vector');
      const vector = unit(extractor.compute(stream, false));
      emit({ text: '', startSample, endSample: startSample + fed, vector });
    },
    release: () => undefined,
  };
}

/** Scales a vector to length 1. A vector of zeros, which silence may give, is returned as it is. */
function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length > 0 ? vector.map(value => value / length) : vector;
}
