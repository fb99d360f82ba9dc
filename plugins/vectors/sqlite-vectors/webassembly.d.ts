/** What is used of it beyond what a detector of speech uses: its types come with a browser's only. */
declare namespace WebAssembly {
  interface Memory {
    /** Answers how many pages there were before. */
    grow(pages: number): number;
  }
}
