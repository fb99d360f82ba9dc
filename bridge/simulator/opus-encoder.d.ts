/** The encoder's settings, beside what is declared of the package elsewhere. */
declare module '@evan/opus/wasm/index.mjs' {
  interface Encoder {
    /** Bits per second. */
    bitrate: number;
    vbr: boolean;
    complexity: number;
    /** A request of libopus, by its number. */
    ctl(request: number, value: number): number;
  }
}
