/** Kinds of sherpa-onnx models: their files, and their configuration. Pure. */

export type ModelFile =
  | 'encoder'
  | 'decoder'
  | 'joiner'
  | 'model'
  | 'preprocessor'
  | 'uncachedDecoder'
  | 'cachedDecoder'
  | 'tokens';

export type Paths = Partial<Record<ModelFile, string>>;

interface Kind {
  /** True: it transcribes while people speak; false: once an utterance has ended. */
  streaming: boolean;
  files: readonly ModelFile[];
  /** This kind's part of sherpa-onnx's `modelConfig`. `language`: ISO 639-1, or '' to detect it. */
  config(files: Paths, language: string): object;
  /** True: the language must be given, because it cannot be detected. */
  needsLanguage?: true;
  /** True: the language can be given. */
  takesLanguage?: true;
  /** True: words to expect can be given, which sherpa-onnx-node supports only for whole utterances. */
  takesHotwords?: true;
}

const TRANSDUCER = ['encoder', 'decoder', 'joiner', 'tokens'] as const;
const ENCODER_DECODER = ['encoder', 'decoder', 'tokens'] as const;
const SINGLE = ['model', 'tokens'] as const;

const transducer = ({ encoder, decoder, joiner }: Paths) => ({ transducer: { encoder, decoder, joiner } });
const single =
  (name: string) =>
  ({ model }: Paths) => ({ [name]: { model } });

export const MODEL_KINDS = {
  transducer: { streaming: true, files: TRANSDUCER, config: transducer },
  paraformer: {
    streaming: true,
    files: ENCODER_DECODER,
    config: ({ encoder, decoder }) => ({ paraformer: { encoder, decoder } }),
  },
  'zipformer2-ctc': { streaming: true, files: SINGLE, config: single('zipformer2Ctc') },
  'nemo-ctc': { streaming: true, files: SINGLE, config: single('nemoCtc') },
  't-one-ctc': { streaming: true, files: SINGLE, config: single('toneCtc') },
  'offline-transducer': { streaming: false, files: TRANSDUCER, config: transducer, takesHotwords: true },
  'nemo-transducer': {
    streaming: false,
    files: TRANSDUCER,
    config: files => ({ ...transducer(files), modelType: 'nemo_transducer' }),
  },
  moonshine: {
    streaming: false,
    files: ['preprocessor', 'encoder', 'uncachedDecoder', 'cachedDecoder', 'tokens'],
    config: ({ preprocessor, encoder, uncachedDecoder, cachedDecoder }) => ({
      moonshine: { preprocessor, encoder, uncachedDecoder, cachedDecoder },
    }),
  },
  'sense-voice': {
    streaming: false,
    files: SINGLE,
    config: ({ model }) => ({ senseVoice: { model, language: 'auto', useInverseTextNormalization: 1 } }),
  },
  'offline-whisper': {
    streaming: false,
    files: ENCODER_DECODER,
    config: ({ encoder, decoder }, language) => ({
      whisper: { encoder, decoder, language, task: 'transcribe' },
    }),
    takesLanguage: true,
  },
  canary: {
    streaming: false,
    files: ENCODER_DECODER,
    config: ({ encoder, decoder }, language) => ({
      canary: { encoder, decoder, srcLang: language, tgtLang: language, usePnc: 1 },
    }),
    takesLanguage: true,
    needsLanguage: true,
  },
  'offline-paraformer': { streaming: false, files: SINGLE, config: single('paraformer') },
  'offline-zipformer-ctc': { streaming: false, files: SINGLE, config: single('zipformerCtc') },
  'offline-nemo-ctc': { streaming: false, files: SINGLE, config: single('nemoCtc') },
} as const satisfies Record<string, Kind>;

export type ModelKind = keyof typeof MODEL_KINDS;

export function kindOf(kind: ModelKind): Kind {
  return MODEL_KINDS[kind];
}

interface Loading {
  kind: ModelKind;
  files: Paths;
  numThreads: number;
  /** Whether words to expect are used. */
  hotwords: boolean;
}

/** Returns the whole configuration of a recogniser. `language`: ISO 639-1, or '' to detect it. */
export function configOf({ kind, files, numThreads, hotwords }: Loading, language: string): object {
  const { takesHotwords, config } = kindOf(kind);
  return {
    featConfig: { sampleRate: 16_000, featureDim: 80 },
    modelConfig: {
      ...config(files, language),
      tokens: files.tokens,
      numThreads,
      provider: 'cpu',
      debug: 0,
    },
    decodingMethod: takesHotwords && hotwords ? 'modified_beam_search' : 'greedy_search',
  };
}

/** Names of all files that any kind consists of. */
export const MODEL_FILES = [...new Set(Object.values(MODEL_KINDS).flatMap(({ files }) => [...files]))] as [
  ModelFile,
  ...ModelFile[],
];
