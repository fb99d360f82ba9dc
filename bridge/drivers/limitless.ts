import type { Button, Driver, Ref, Session, Track, WireFormat } from '../driver.ts';
import { openLedger } from './limitless-pages.ts';
import {
  bytesOf,
  createAssembler,
  type Field,
  fieldsOf,
  messageOf,
  numberOf,
  packetOf,
} from './limitless-wire.ts';

const SERVICE = '632de001-604c-446b-a80f-7963e950f3fb';
const COMMANDS: Ref = { service: SERVICE, characteristic: '632de002-604c-446b-a80f-7963e950f3fb' };
const ANSWERS: Ref = { service: SERVICE, characteristic: '632de003-604c-446b-a80f-7963e950f3fb' };
const BATTERY: Ref = { service: '180f', characteristic: '2a19' };
const FORMAT: WireFormat = { codec: 'opus_fs320', sampleRate: 16000, frameMs: 20 };

/** Fields of a command. The one that un-pairs, 15, is never written. */
const COMMAND = { time: 6, stored: 7, mode: 8, status: 21, request: 30 } as const;
/** Fields of what it says. */
const MESSAGE = { storage: 2, status: 5, button: 8 } as const;
const BUTTONS: Readonly<Record<number, Button>> = { 1: 'single', 2: 'long', 3: 'double' };

/** First bytes of Opus frames that were seen. */
const FRAME_STARTS = new Set([0xb8, 0x78, 0xf8, 0xb0, 0x70, 0xf0]);
const LEAST_FRAME_BYTES = 10;
const MOST_FRAME_BYTES = 200;
const MAX_DEPTH = 4;

/** After so many it is told which ones are kept here. */
const ACKNOWLEDGED_PAGES = 16;
const FIRST_BYTE_OF_PACKET = 0x08;

/** The pendant of Limitless: protobuf over two characteristics, after the app of Omi. */
export default {
  api: 1,
  name: 'limitless',
  title: 'Limitless pendant',
  inferred: [
    'Pages that come while live audio was asked for are live; it numbers them on, and keeps them until they are acknowledged.',
    'While it sends what it has stored, it goes on recording, and what it hears then is stored.',
    'Each time it is asked for stored pages, it begins with the oldest that is not acknowledged.',
    'Newer firmware (1.1.20) sends no live audio, and writes need a bonded connection.',
  ],
  match: {
    advertised: [{ serviceUuid: SERVICE }, { namePrefix: 'limitless' }, { namePrefix: 'pendant' }],
    confirm: [COMMANDS, { ...ANSWERS, properties: ['notify'] }],
  },
  writes: [{ ...COMMANDS, first: [FIRST_BYTE_OF_PACKET], releases: isAcknowledgement }],
  needs: { bonding: 'required' },
  async run(session) {
    const { link, clock, sink, log, signal } = session;
    await clock.sleep(1000); // it answers nothing before
    const packets = await link.notifications(ANSWERS);
    await clock.sleep(1000);
    const send = createSender(session);
    await send(COMMAND.time, messageOf([[1, clock.now()]]));
    await clock.sleep(1000);
    await send(COMMAND.mode, LIVE);
    const battery = watchBattery(session);
    battery.catch(() => {}); // the connection is over then
    const pages = createPages(session, send);
    const fetching = fetchStored(session, pages, send);
    fetching.catch(error => {
      if (!signal.aborted) log.warn({ err: error }, 'stored audio could not be fetched');
    });
    const assemble = createAssembler(() => sink.count('malformed'));
    for await (const { bytes } of packets) {
      const message = assemble(bytes);
      if (message) hear(message, pages, sink);
    }
    await pages.end();
  },
} satisfies Driver;

const modeOf = (batch: number, live: number) =>
  messageOf([
    [1, batch],
    [2, live],
  ]);
const LIVE = modeOf(0, 1);
const STORED = modeOf(1, 0);

type Send = (field: number, content: Uint8Array) => Promise<void>;

/** Commands are numbered, and so are the requests within them. */
function createSender({ link }: Session): Send {
  let number = 0;
  return async (field, content) => {
    const request = messageOf([
      [1, number],
      [2, 0],
    ]);
    const command = messageOf([
      [field, content],
      [COMMAND.request, request],
    ]);
    await link.write(COMMANDS, packetOf(number, 0, 1, command));
    number += 1;
  };
}

function hear(message: Uint8Array, pages: Pages, sink: Session['sink']): void {
  const fields = fieldsOf(message);
  if (!fields) {
    sink.count('malformed');
    return;
  }
  const button = BUTTONS[numberOf(fieldsOf(bytesOf(fields, MESSAGE.button) ?? EMPTY), 1) ?? 0];
  if (button) sink.button(button);
  const status = statusIn(fields);
  if (status) pages.told(status);
  const storage = bytesOf(fields, MESSAGE.storage);
  const parts = storage && fieldsOf(storage);
  const page = parts && (fieldsOf(bytesOf(parts, 6) ?? EMPTY) ?? []);
  pages.take({
    number: parts ? numberOf(parts, 5) : null,
    atMs: numberOf(page, 1),
    frames: framesIn(page ?? fields),
  });
}

const EMPTY = new Uint8Array();

/** Numbers of the oldest and the newest page that it has. */
interface Status {
  oldest: number;
  newest: number;
}

function statusIn(fields: readonly Field[]): Status | null {
  const told = fieldsOf(bytesOf(fieldsOf(bytesOf(fields, MESSAGE.status) ?? EMPTY), 5) ?? EMPTY);
  const [oldest, newest] = [numberOf(told, 1), numberOf(told, 2)];
  if (oldest === null || newest === null || newest < oldest || newest > MAX_PAGE) return null;
  return { oldest, newest };
}

/** Numbers have 32 bits. */
const MAX_PAGE = 2 ** 32;

/** Frames stand at several depths, and no schema says at which. */
function framesIn(fields: readonly Field[], depth = 0): Uint8Array[] {
  return fields.flatMap(({ bytes }) => {
    if (!bytes) return [];
    if (isFrame(bytes)) return [bytes];
    return depth < MAX_DEPTH ? framesIn(fieldsOf(bytes) ?? [], depth + 1) : [];
  });
}

function isFrame(bytes: Uint8Array): boolean {
  const { length } = bytes;
  return length >= LEAST_FRAME_BYTES && length <= MOST_FRAME_BYTES && FRAME_STARTS.has(bytes[0] ?? 0);
}

interface Page {
  /** Null: it comes without one. */
  number: number | null;
  /** UTC epoch ms; null: not told. */
  atMs: number | null;
  frames: readonly Uint8Array[];
}

type Pages = ReturnType<typeof createPages>;

/** Keeps what comes, live or stored, each page once; tells the pendant which ones are on disk, so that its memory does not fill. */
function createPages({ sink, memory, clock, log }: Session, send: Send) {
  const ledger = openLedger(memory);
  const live = sink.audio(FORMAT, { live: true });
  const timeline = createTimeline(sink);
  let isFetching = false;
  let status: Status | null = null;
  let sinceAcknowledged = 0;
  let acknowledged = -1;
  let acknowledging = Promise.resolve();
  let lastAtMs = clock.now();

  /** Pages after one that is missing stay with the pendant. */
  async function acknowledge(): Promise<void> {
    const below = ledger.missing;
    if (below === null || below - 1 <= acknowledged) return;
    await Promise.all([live.stored(), timeline.stored()]);
    await ledger.save();
    await send(COMMAND.stored, messageOf([[1, below - 1]]));
    acknowledged = below - 1;
  }

  function acknowledgeSoon(): void {
    sinceAcknowledged = 0;
    acknowledging = acknowledging
      .then(acknowledge)
      .catch(error => log.warn({ err: error }, 'pages were not acknowledged'));
  }

  return {
    told(next: Status) {
      status = next;
      ledger.told(next);
    },
    take({ number, atMs, frames }: Page): void {
      lastAtMs = clock.now();
      if (number !== null && (number > MAX_PAGE || ledger.has(number))) return;
      if (isFetching && number !== null) {
        timeline.add(frames, timeOf(atMs, clock.now()));
      } else for (const frame of frames) live.frame(frame);
      if (number === null) return;
      ledger.add(number);
      sinceAcknowledged += 1;
      if (sinceAcknowledged >= ACKNOWLEDGED_PAGES) acknowledgeSoon();
    },
    fetching(on: boolean) {
      isFetching = on;
      if (on) lastAtMs = clock.now();
      else timeline.end();
    },
    forget() {
      status = null;
    },
    get status() {
      return status;
    },
    get missing() {
      return ledger.missing;
    },
    /** When the last page came. */
    get lastAtMs() {
      return lastAtMs;
    },
    skip: ledger.skip,
    /** Resolves when the pendant was told of all that is here. */
    async settle() {
      acknowledgeSoon();
      await acknowledging;
    },
    /** Remembers what is here, so that the next connection does not fetch it again. */
    async end() {
      await Promise.all([live.stored(), timeline.stored()]);
      await ledger.save();
      live.end();
      timeline.end();
    },
  };
}

/** Before the pendant was made, or later than now, its clock was not set. */
const FIRST_PENDANT_MS = Date.UTC(2024, 0, 1);

function timeOf(atMs: number | null, nowMs: number): number | null {
  return atMs !== null && atMs >= FIRST_PENDANT_MS && atMs <= nowMs ? atMs : null;
}

/** A longer pause, or a jump back, begins another recording. */
const MAX_PAUSE_MS = 600_000;
const MIN_PAUSE_MS = 1500;

/** Stored pages at their times: one recording as long as they follow on each other. */
function createTimeline(sink: Session['sink']) {
  let track: Track | null = null;
  let endMs = 0;

  function end(): void {
    track?.end();
    track = null;
  }

  return {
    /** @param startMs null: right behind what came before */
    add(frames: readonly Uint8Array[], startMs: number | null): void {
      if (frames.length === 0) return;
      const pauseMs = startMs === null ? 0 : startMs - endMs;
      if (pauseMs > MAX_PAUSE_MS || pauseMs < -MIN_PAUSE_MS) end();
      const isNew = track === null;
      if (isNew) endMs = startMs ?? endMs;
      track ??= sink.audio(FORMAT, { live: false, startedAtMs: endMs });
      const pause = !isNew && pauseMs >= MIN_PAUSE_MS ? pauseMs : 0;
      for (const [index, bytes] of frames.entries())
        track.frame(bytes, index === 0 ? { pauseMs: pause } : {});
      endMs += pause + frames.length * FORMAT.frameMs;
    },
    stored: async () => track?.stored(),
    end,
  };
}

const STATUS_MS = 5000;
const LOOK_MS = 250;
/** Without a page for so long it has no more. */
const SILENCE_MS = 10_000;
/** Live audio waits for no more than this of stored audio, and then has its turn. */
const FETCH_MS = 120_000;
const BETWEEN_MS = 600_000;
/** Fewer may be on their way as live audio. */
const PAGES_UNDER_WAY = 4;
/** Missing pages that do not come in so many attempts are given up. */
const MAX_ATTEMPTS = 3;

/** Fetches what it recorded out of reach, and pages that were lost on the air; a part at a time. */
async function fetchStored({ clock, sink, log }: Session, pages: Pages, send: Send): Promise<void> {
  let attempts = { missing: -1, count: 0 };
  let before: number | null = null;
  for (;;) {
    pages.forget();
    await send(COMMAND.status, EMPTY);
    await until(() => pages.status !== null, STATUS_MS);
    const { status, missing } = pages;
    const waiting = status && missing !== null ? status.newest + 1 - missing : 0;
    const isStuck = missing === before;
    before = missing;
    if (status && missing !== null && waiting > (isStuck ? 0 : PAGES_UNDER_WAY)) {
      await fetchPart(status.newest);
      attempts = { missing, count: attempts.missing === missing ? attempts.count + 1 : 1 };
      if (pages.missing !== missing || attempts.count < MAX_ATTEMPTS) continue;
      const lost = pages.skip();
      if (lost > 0) log.warn({ pages: lost }, 'stored pages that the pendant does not send are skipped');
    }
    await clock.sleep(BETWEEN_MS);
  }

  async function fetchPart(newest: number): Promise<void> {
    const first = pages.missing ?? 0;
    const endAtMs = clock.now() + FETCH_MS;
    const isOver = () => (pages.missing ?? 0) > newest || clock.now() - pages.lastAtMs > SILENCE_MS;
    pages.fetching(true);
    try {
      await send(COMMAND.mode, STORED);
      await until(() => {
        const done = Math.min(newest + 1, pages.missing ?? 0) - first;
        sink.progress({ bytes: done * PAGE_BYTES, ofBytes: (newest + 1 - first) * PAGE_BYTES });
        return isOver();
      }, endAtMs - clock.now());
    } finally {
      await send(COMMAND.mode, LIVE);
    }
    await pages.settle();
    pages.fetching(false);
    if (clock.now() >= endAtMs) await clock.sleep(BETWEEN_MS);
  }

  async function until(isSo: () => boolean, limitMs: number): Promise<void> {
    for (const endAtMs = clock.now() + limitMs; !isSo() && clock.now() < endAtMs; )
      await clock.sleep(LOOK_MS);
  }
}

/** About; the pendant tells how many pages it has, and not how long they are. */
const PAGE_BYTES = 4096;

function isAcknowledgement(packet: Uint8Array): boolean {
  const command = bytesOf(fieldsOf(packet), 4);
  return command !== null && bytesOf(fieldsOf(command), COMMAND.stored) !== null;
}

async function watchBattery({ link, sink }: Session): Promise<void> {
  const level = await link.read(BATTERY, { optional: true });
  if (level) sink.battery(level[0] ?? null);
  const levels = await link.notifications(BATTERY, { optional: true });
  for await (const { bytes } of levels ?? []) sink.battery(bytes[0] ?? null);
}
