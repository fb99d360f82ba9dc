/** Declares the used part of WebAssembly, whose types otherwise come only with the DOM's. */
declare namespace WebAssembly {
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
  function instantiate(bytes: Uint8Array): Promise<{ instance: { exports: unknown } }>;
}
