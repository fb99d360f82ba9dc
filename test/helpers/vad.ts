import type { VadProvider } from '../../core/contract/plugin.ts';
import { rms } from './sound.ts';

/** Samples of a window of `loudVad`. */
export const WINDOW = 512;

/** Treats every window that is not silent as speech. */
export const loudVad: VadProvider = {
  windowSize: WINDOW,
  open: () => ({
    probabilities: async samples =>
      Float32Array.from({ length: samples.length / WINDOW }, (_, i) =>
        rms(samples.subarray(i * WINDOW, (i + 1) * WINDOW)) > 100 ? 0.9 : 0.1,
      ),
    reset() {},
    close() {},
  }),
};
