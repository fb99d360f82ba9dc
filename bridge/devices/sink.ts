import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Button, PacketCounts, Sink, Track, WireFormat } from '../driver.ts';
import { conversionOf } from '../framing/to-pcm.ts';
import type { Recording, RecordingInfo } from '../spool/recording.ts';

/** The services of the bridge that a sink needs. */
export interface SinkHost {
  /** Identity of the wearable towards core. */
  identity: { clientDeviceId: string; deviceName: string; source: string };
  /** Counts over all its connections. */
  counts: PacketCounts;
  begin(info: RecordingInfo): Recording;
  /** Resolves when the spool has room for more stored audio. */
  room(): Promise<void>;
  clock: Clock;
  onStream(format: WireFormat): void;
  onFrame(): void;
  onBattery(percent: number | null): void;
  onButton(button: Button): void;
  onState(state: 'listening' | 'quiet' | 'muted'): void;
  onPhoto: Sink['photo'];
  onProgress(done: { bytes: number; ofBytes: number }): void;
  onAbout(facts: Parameters<Sink['about']>[0]): void;
}

/** Turns tracks into recordings in the spool; a recording begins with its first frame. */
export interface OpenSink extends Sink {
  /** Like `audio` with `live`, without reporting that the wearable streams. */
  quietly(format: WireFormat): Track;
  /** Resolves when all stored audio is on disk. */
  released(): Promise<void>;
  /** Whether anything was recorded. */
  readonly hasRecorded: boolean;
  end(): void;
}

/** Suffix of the device id for stored audio: core would otherwise join it with what the device is saying now. */
const STORED = '_stored';

export function createSink(host: SinkHost): OpenSink {
  const { identity, counts, begin, clock } = host;
  const tracks = new Set<Track>();
  const storedTracks = new Set<Track>();
  /** Stored tracks that have ended and are being written to disk. */
  const settling: Promise<void>[] = [];
  let hasRecorded = false;

  function open(format: WireFormat, stored: { startedAtMs: number } | null): Track {
    const conversion = conversionOf(format);
    const { codec, sampleRate, frameMs } = conversion?.format ?? format;
    let recording: Recording | null = null;
    let ended = false;

    const info = (): RecordingInfo => ({
      ...identity,
      clientDeviceId: stored ? `${identity.clientDeviceId}${STORED}` : identity.clientDeviceId,
      codec,
      sampleRate,
      frameMs,
      startedAtMs: stored?.startedAtMs ?? clock.now(),
      stored: stored !== null,
    });
    const track: Track = {
      frame(bytes, { lostBefore = 0, pauseMs = 0 } = {}) {
        if (ended || bytes.length === 0) return;
        recording ??= begin(info());
        hasRecorded = true;
        recording.append(conversion?.convert(bytes) ?? bytes, lostBefore * frameMs + pauseMs);
        if (!stored) host.onFrame();
      },
      async stored() {
        await recording?.settled();
        await host.room();
      },
      end() {
        ended = true;
        if (!tracks.delete(track)) return;
        if (storedTracks.delete(track) && recording) settling.push(recording.settled());
        settling.at(-1)?.catch(() => {}); // reported by `released`
        recording?.end();
      },
    };
    tracks.add(track);
    if (stored) storedTracks.add(track);
    return track;
  }

  /** Counts frames for drivers with their own decoder; declared framings count themselves. */
  function counted(track: Track): Track {
    return {
      ...track,
      frame(bytes, about = {}) {
        counts.frames += 1;
        counts.lost += about.lostBefore ?? 0;
        track.frame(bytes, about);
      },
    };
  }

  return {
    audio(format: WireFormat, kind: { live: true } | { live: false; startedAtMs: number }) {
      if (!kind.live) return counted(open(format, { startedAtMs: kind.startedAtMs }));
      host.onStream(format);
      return counted(open(format, null));
    },
    quietly: format => open(format, null),
    battery: host.onBattery,
    button: host.onButton,
    state: host.onState,
    photo: host.onPhoto,
    progress: host.onProgress,
    about: host.onAbout,
    count(what, times = 1) {
      const key = { duplicate: 'duplicates', malformed: 'malformed', reset: 'resets' } as const;
      counts[key[what]] += times;
    },
    async released() {
      await Promise.all(settling);
      settling.length = 0;
      for (const track of storedTracks) await track.stored();
    },
    get hasRecorded() {
      return hasRecorded;
    },
    end() {
      for (const track of [...tracks]) track.end();
    },
  };
}

/** Returns the identity of a wearable. Its id is derived from the address without revealing it. */
export function identityOf(
  { address, name }: { address: string; name: string },
  source: string,
): SinkHost['identity'] {
  return { clientDeviceId: `${source}_${hashOf(address)}`, deviceName: name, source };
}

/** Hashes an address, as ids contain it. */
export function hashOf(address: string): string {
  return createHash('sha256').update(address).digest('hex').slice(0, 12);
}
