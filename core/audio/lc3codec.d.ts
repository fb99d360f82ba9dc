/** Types for the used part of the package, which ships none. */
declare module 'lc3codec' {
  /** Whether a frame was found to be broken. */
  class LC3BEC {
    isMarked(): boolean;
  }
  class LC3Decoder {
    constructor(duration: object, sampleRate: object);
    /** Decodes one frame into `samples`, or conceals it if it is marked as lost. */
    decode(frame: Uint8Array, errors: LC3BEC, samples: Int16Array): Int16Array;
  }
  class LC3Encoder {
    constructor(duration: object, sampleRate: object);
    /** One frame of this many bytes, 20 to 400. */
    encode(samples: Int16Array, bytes: number): number[];
  }
  const lc3: {
    Core: { LC3FrameDuration: { NMS_10000US: object }; LC3SampleRate: { FS_16000: object } };
    Decoder: { LC3BEC: typeof LC3BEC; LC3Decoder: typeof LC3Decoder };
    Encoder: { LC3Encoder: typeof LC3Encoder };
  };
  export default lc3;
}
