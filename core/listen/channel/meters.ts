import type { Decoded, Decoder } from '../../audio/codecs.ts';
import type { VadSession } from '../../contract/plugin.ts';
import type { ListenMetrics, StreamCounts } from '../../runtime/metrics.ts';
import type { Pending } from './hearing.ts';

type Now = ListenMetrics['now'];

/** Wraps a decoder to count its input, output and time. */
export function meteredDecoder(decoder: Decoder, total: StreamCounts, now: Now): Decoder {
  function count(decoded: Decoded): Decoded {
    total.samples += decoded.pcm.length;
    total.badFrames += decoded.bad;
    return decoded;
  }

  return {
    decode(message) {
      total.messages += 1;
      total.bytes += message.length;
      const startedAt = now();
      const decoded = decoder.decode(message); // decodes everything before it returns
      total.decodeMs += now() - startedAt;
      return decoded instanceof Promise ? decoded.then(count) : count(decoded);
    },
    conceal(samples) {
      total.concealedSamples += samples;
      const startedAt = now();
      const pcm = decoder.conceal(samples);
      total.decodeMs += now() - startedAt;
      return pcm;
    },
    get carries() {
      return decoder.carries ?? false;
    },
    reset: () => decoder.reset?.(),
    close: () => decoder.close(),
  };
}

/** Wraps a detector to measure the time to its answer. */
export function meteredDetector(detector: VadSession, total: StreamCounts, now: Now): VadSession {
  return {
    probabilities(samples) {
      const askedAt = now();
      const count = () => {
        total.detectorMs += now() - askedAt;
      };
      const found = detector.probabilities(samples);
      if (found instanceof Promise) return found.finally(count);
      count();
      return found;
    },
    reset: () => detector.reset(),
    close: () => detector.close(),
  };
}

/** Measures one utterance on its way to text. */
export function meterUtterance(metrics: ListenMetrics, entry: Pending) {
  const begunAt = metrics.now();
  let last: { provider: string; heardAt: number; sentAt: number } | null = null;
  let isQuarantined = false;
  return {
    /** Records that a piece of text, ready at `heardAt`, is stored and sent now. */
    sent(provider: string, heardAt: number) {
      last = { provider, heardAt, sentAt: metrics.now() };
    },
    /** Records that no recogniser can process the rest. */
    quarantined() {
      isQuarantined = true;
    },
    done() {
      metrics.utterance(isQuarantined ? 'quarantined' : last ? 'success' : 'empty_unexpected');
      if (isQuarantined || !last || !entry.ended) return;
      const { at, spokenAt } = entry.ended;
      metrics.transcribed(last.provider, {
        recogniserMs: Math.max(0, last.heardAt - Math.max(begunAt, at)),
        latencyMs: Math.max(0, last.sentAt - spokenAt),
        beyondMs: Math.max(0, last.sentAt - at),
      });
    },
  };
}
