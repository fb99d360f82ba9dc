/**
 * Runs in the browser's audio thread: converts samples to 16-bit integers, a tenth of a second per message.
 */
class Recorder extends AudioWorkletProcessor {
  constructor() {
    super();
    this.samples = new Int16Array(Math.round(sampleRate / 10));
    this.filled = 0;
  }

  process([[channel] = []]) {
    for (const sample of channel ?? []) {
      this.samples[this.filled] = Math.max(-1, Math.min(1, sample)) * 0x7fff;
      this.filled += 1;
      if (this.filled < this.samples.length) continue;
      this.port.postMessage(this.samples.slice());
      this.filled = 0;
    }
    return true;
  }
}
registerProcessor('recorder', Recorder);
