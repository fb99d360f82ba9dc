/** Types of the used part of WebAssembly: its own come with those of browsers only. */
declare namespace WebAssembly {
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
  function instantiate(bytes: Uint8Array): Promise<{ instance: { exports: unknown } }>;
}
