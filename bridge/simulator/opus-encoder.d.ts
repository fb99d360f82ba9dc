/** Settings of the encoder that the package's own declarations lack. */
declare module '@evan/opus/wasm/index.mjs' {
  interface Encoder {
    /** Bits per second. */
    bitrate: number;
    vbr: boolean;
    complexity: number;
    /** Sends a control request of libopus, by its number. */
    ctl(request: number, value: number): number;
  }
}
