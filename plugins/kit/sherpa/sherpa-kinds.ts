/** Kinds of sherpa-onnx models: the files that each is made of, and how sherpa-onnx is told of them. Pure. */

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
  /** It answers while people speak; otherwise it hears an utterance when that has ended. */
  streaming: boolean;
  files: readonly ModelFile[];
  /** The part of sherpa-onnx's `modelConfig` that is of this kind. `language`: ISO 639-1, or '' to detect it. */
  config(files: Paths, language: string): object;
  /** It must be told the language, and cannot detect it. */
  needsLanguage?: true;
  /** It can be told the language. */
  takesLanguage?: true;
  /** It can be told words to expect: sherpa-onnx-node takes them for a stream of whole utterances alone. */
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

/** All files that any kind is made of. */
export const MODEL_FILES = [...new Set(Object.values(MODEL_KINDS).flatMap(({ files }) => [...files]))] as [
  ModelFile,
  ...ModelFile[],
];
