import type { Logger } from 'pino';
import type { ServerEvent } from '../../core/listen/protocol.ts';
import type { Clock } from '../clock.ts';
import type { PhotoQueue, WaitingPhoto } from '../spool/photos.ts';

export interface PhotoLimits {
  /** Time limit for core's answer to a photo, which it decodes first. */
  photoMs: number;
  /** Pause after a refusal that may be temporary. */
  slowRetryMs: number;
}

/** Upload of the photos of one wearable, over any number of connections. */
export interface PhotoCarrier {
  /** Returns the oldest photo if it was taken by then and is not waiting for a retry. */
  due(atMs: number): WaitingPhoto | null;
  /** Returns the time until the next attempt, in ms; 0: now. */
  heldMs(): number;
  /** Creates the sender for one connection. @param send resolves when the text was sent */
  open(send: (text: string) => Promise<void>): PhotoSender;
}

/** Sends photos over one connection, each after core has confirmed the one before. */
export interface PhotoSender {
  /** Starts to send the photos taken by then, unless photos are being sent already. */
  upTo(atMs: number): void;
  onMessage(message: ServerEvent): void;
  /** Resolves when no photo is being sent. */
  settled(): Promise<void>;
  /** Starts no further photo. The current one has this long to be confirmed. */
  stop(limitMs: number): void;
}

/** Size of a piece: a multiple of 3, for Base64, and small enough that audio is not delayed (32 KiB of text). */
const PIECE_BYTES = 24 * 1024;
/** Attempts after which a photo is dropped. */
const MAX_FAILURES = 3;

/** Error codes that do not concern the photo itself, and what to do. After other errors, it is retried a few times. */
const REFUSALS: Readonly<Record<string, string>> = {
  not_supported: 'core cannot read photos: npm install @napi-rs/image on the server',
  photos_full: 'core has no room for photos: delete some, or raise photos.maxBytesPerUser',
  too_many_images: 'core has too many incomplete photos of this account',
  internal: 'core failed to store a photo',
};

type Outcome =
  | { kind: 'stored' }
  | { kind: 'silent' }
  | { kind: 'lost' }
  | { kind: 'refused'; code: string; message: string };

export function createPhotoCarrier({
  photos,
  clientDeviceId,
  clock,
  log,
  limits,
}: {
  photos: Pick<PhotoQueue, 'first' | 'stored' | 'refused'>;
  clientDeviceId: string;
  clock: Clock;
  log: Logger;
  limits: PhotoLimits;
}): PhotoCarrier {
  let heldUntilMs = 0;
  let failed = { id: '', times: 0 };
  let told = '';

  const heldMs = () => Math.max(0, heldUntilMs - clock.now());

  function due(atMs: number): WaitingPhoto | null {
    const photo = heldMs() > 0 ? null : photos.first(clientDeviceId);
    return photo && photo.atMs <= atMs ? photo : null;
  }

  /** Delays all photos of the wearable. */
  function hold(photo: WaitingPhoto, reason: string): void {
    heldUntilMs = clock.now() + limits.slowRetryMs;
    const level = told === reason ? 'debug' : 'error';
    told = reason;
    log[level](
      { device: photo.deviceName, retryInMs: limits.slowRetryMs },
      `${reason}; photos are kept on disk meanwhile`,
    );
  }

  async function giveUp(photo: WaitingPhoto, reason: string): Promise<void> {
    log.warn({ device: photo.deviceName }, `dropped a photo: ${reason}`);
    await photos.refused(photo);
  }

  async function conclude(photo: WaitingPhoto, outcome: Outcome): Promise<void> {
    if (outcome.kind === 'lost') return;
    if (outcome.kind === 'stored') {
      told = '';
      return photos.stored(photo);
    }
    if (outcome.kind === 'silent')
      return hold(photo, `core did not confirm a photo within ${limits.photoMs} ms`);
    const reason = REFUSALS[outcome.code];
    if (reason) return hold(photo, reason);
    failed = { id: photo.id, times: failed.id === photo.id ? failed.times + 1 : 1 };
    if (failed.times >= MAX_FAILURES) await giveUp(photo, outcome.message);
  }

  function open(send: (text: string) => Promise<void>): PhotoSender {
    let reachedMs = Number.NEGATIVE_INFINITY;
    let sending: Promise<void> | null = null;
    let stopped = false;
    let answered: { id: string; with: (outcome: Outcome) => void } | null = null;
    const ending = new AbortController();

    async function sendDue(): Promise<void> {
      for (let photo = due(reachedMs); photo && !stopped; photo = due(reachedMs)) {
        const jpeg = await photo.jpeg().catch(() => null);
        if (jpeg) await conclude(photo, await sendOne(photo, jpeg));
        else await giveUp(photo, 'its file cannot be read');
      }
    }

    async function sendOne({ id, atMs }: WaitingPhoto, jpeg: Buffer): Promise<Outcome> {
      const answer = Promise.withResolvers<Outcome>();
      answered = { id, with: answer.resolve };
      const done = new AbortController();
      const late = clock.sleep(limits.photoMs, AbortSignal.any([ending.signal, done.signal])).then(
        (): Outcome => ({ kind: 'silent' }),
        (): Outcome => ({ kind: 'lost' }),
      );
      try {
        const total = Math.max(1, Math.ceil(jpeg.length / PIECE_BYTES));
        const taken_at = new Date(atMs).toISOString();
        for (let index = 0; index < total && !ending.signal.aborted; index += 1) {
          const data = jpeg.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES).toString('base64');
          await send(JSON.stringify({ type: 'image_chunk', id, index, total, data, taken_at }));
        }
        return await Promise.race([answer.promise, late]);
      } catch {
        return { kind: 'lost' }; // the connection has ended
      } finally {
        done.abort();
        answered = null;
      }
    }

    return {
      upTo(atMs) {
        reachedMs = Math.max(reachedMs, atMs);
        if (sending || stopped || !due(reachedMs)) return;
        sending = sendDue()
          .catch(error => log.warn({ err: error }, 'a photo could not be sent'))
          .finally(() => {
            sending = null;
          });
      },
      onMessage(message) {
        if (!answered) return;
        if (message.type === 'photo_processing' && message.temp_id === answered.id)
          answered.with({ kind: 'stored' });
        if (message.type === 'error' && isAbout(message, answered.id))
          answered.with({ kind: 'refused', code: message.code, message: message.message ?? message.code });
      },
      settled: () => sending ?? Promise.resolve(),
      stop(limitMs) {
        stopped = true;
        if (limitMs <= 0) ending.abort();
        else
          void clock.sleep(limitMs, ending.signal).then(
            () => ending.abort(),
            () => {},
          );
      },
    };
  }

  return { due, heldMs, open };
}

/** Returns the id that an error refers to. It is the image's, or the message's if core accepts no images at all. */
function isAbout({ message = '' }: { message?: string | undefined }, id: string): boolean {
  return message.includes(id) || message.includes('image_chunk');
}
