/** Types for the used part of the package, which ships none. Pointers are offsets into the heap. */
declare module '@echogarden/speex-resampler-wasm/simd' {
  interface Speex {
    HEAP16: Int16Array<ArrayBuffer>;
    HEAPU32: Uint32Array<ArrayBuffer>;
    _malloc(bytes: number): number;
    _free(pointer: number): void;
    /** Writes an error number to `error`; returns 0 on failure. */
    _speex_resampler_init(channels: number, from: number, to: number, quality: number, error: number): number;
    /** Reads and writes the lengths: samples offered and consumed, room and samples produced. */
    _speex_resampler_process_int(
      state: number,
      channel: number,
      input: number,
      inputLength: number,
      output: number,
      outputLength: number,
    ): number;
    _speex_resampler_destroy(state: number): void;
  }
  export default function load(): Promise<Speex>;
}
