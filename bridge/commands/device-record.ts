import { writeFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { fingerprint, replay } from '../conformance/replay.ts';
import { type Trace, writeTrace } from '../conformance/trace.ts';
import { startDevices } from '../devices/devices.ts';
import { type Tap, tap } from '../devices/tap.ts';
import type { Driver } from '../driver.ts';
import type { Radio } from '../radio.ts';
import type { Recording } from '../spool/recording.ts';

export interface RecordOptions {
  /** Path of the trace. */
  file: string;
  radio: Radio;
  drivers: readonly Driver[];
  /** Names or addresses; empty: the first device that a driver knows. */
  only: string[];
  /** Seconds of audio. */
  seconds: number;
  /** How long to look for a device. */
  limitMs: number;
  origin: string;
  clock: Clock;
  log: Logger;
}

/**
 * Records the traffic between a device and its driver, as a trace that `device check` replays. It contains the audio.
 * @throws Error when no device streams in time
 */
export async function recordDevice(options: RecordOptions): Promise<Trace> {
  const { file, seconds, limitMs, clock, log } = options;
  const taps: Tap[] = [];
  const streaming = Promise.withResolvers<string>();
  const devices = startDevices({
    ...options,
    begin: () => nowhere(),
    through(link) {
      const tapped = tap(link, clock);
      taps.push(tapped);
      return tapped.link;
    },
    onEvent(event) {
      if (event.event !== 'device') return;
      if (event.state === 'streaming') streaming.resolve(event.name);
      else log.info({ device: event.name, state: event.state }, event.reason ?? '');
    },
  });
  const looking = new AbortController();
  try {
    const late = clock.sleep(limitMs, looking.signal).then(
      () =>
        Promise.reject(
          new Error(
            options.radio.state.hint ||
              `no wearable streamed within ${limitMs / 1000} s; is it in reach, and no phone connected to it?`,
          ),
        ),
      () => '',
    );
    const device = await Promise.race([streaming.promise, late]);
    await clock.sleep(seconds * 1000);
    const last = taps.at(-1);
    if (!last) throw new Error('the device was lost');
    const trace = await expecting(traceOf(last, device, options), options.drivers);
    await writeFile(file, writeTrace(trace), { mode: 0o600 });
    return trace;
  } finally {
    looking.abort();
    await devices.stop();
  }
}

function traceOf({ link, events, characteristics }: Tap, device: string, { origin }: RecordOptions): Trace {
  return { device, origin, mtu: link.mtu, characteristics, events: [...events], expect: null };
}

/** Adds what the driver makes of it now, so that later versions of the driver can be compared. */
async function expecting(trace: Trace, drivers: readonly Driver[]): Promise<Trace> {
  for (const driver of drivers) {
    const got = await replay(driver, trace);
    if (got.error || got.live.length + got.stored.length === 0) continue;
    const { live, stored, counts, photos } = got;
    const expect = {
      frames: live.length,
      stored: stored.length,
      lost: counts.lost,
      ...(photos.length > 0 && { photos: photos.length }),
      sha256: fingerprint(got),
    };
    return { ...trace, expect };
  }
  return trace;
}

/** A recording that drops its audio, which is already in the trace. */
function nowhere(): Recording {
  const recording: Partial<Recording> = { append() {}, async settled() {}, end() {} };
  return recording as Recording; // the parts that a sink needs
}
