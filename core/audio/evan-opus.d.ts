/** Types of the used part of the package's WASM build, which has none. */
declare module '@evan/opus/wasm/index.mjs' {
  interface Format {
    channels: 1 | 2;
    sample_rate: 8000 | 12000 | 16000 | 24000 | 48000;
  }
  export class Decoder {
    constructor(format: Format);
    /** 16-bit samples as bytes, in a buffer of their own. Throws on a packet that is none. */
    decode(packet: Uint8Array): Uint8Array<ArrayBuffer>;
    /** Frees its memory. */
    drop(): void;
  }
  export class Encoder {
    constructor(format: Format & { application: 'voip' | 'audio' | 'restricted_lowdelay' });
    /** 16-bit samples of one frame to a packet, in memory that is used again. */
    encode(samples: Int16Array): Uint8Array<ArrayBuffer>;
    /** Sends a control request of libopus, by its number: sets a value, or without one gets it. */
    ctl(request: number, value?: number): number;
    drop(): void;
  }
}
