import type { Driver, Session, Stream } from '../driver.ts';
import { createPhotoAssembler, isFirstPiece } from '../framing/photo.ts';
import { OMI_STREAM } from './omi.ts';

const omi = (number: string) => `19b1${number}-e8f2-537e-4f6c-d104768a1214`;
const PHOTO_DATA = { service: omi('0000'), characteristic: omi('0005') };
const PHOTO_CONTROL = { service: omi('0000'), characteristic: omi('0006') };

const { audio, format, framing, minMtu, battery } = OMI_STREAM;
const STREAM: Stream = {
  audio,
  format,
  ...(framing && { framing }),
  ...(battery && { battery }),
  minMtu: minMtu ?? 0,
};

/** A signed byte: any number from 5 on starts the interval. */
const EVERY_30_S = 5;
const NEVER = 0;
const ONE = 0xff;

/**
 * Omi Glass and OpenGlass: the audio of a pendant, and a camera. Nothing else is written: what are settings on a pendant
 * is the firmware update here.
 */
export default {
  api: 1,
  name: 'omi-glass',
  title: 'Omi Glass and OpenGlass',
  source: 'openglass',
  inferred: ['The orientation of a photo counts quarter turns clockwise.'],
  match: {
    advertised: [{ serviceUuid: omi('0000') }],
    confirm: [PHOTO_DATA, PHOTO_CONTROL, { service: omi('0000'), characteristic: omi('0002') }],
  },
  controls: [
    {
      ...PHOTO_CONTROL,
      name: 'photos',
      title: 'a photo every 30 s',
      kind: 'setting',
      values: { on: EVERY_30_S, off: NEVER },
    },
    { ...PHOTO_CONTROL, name: 'photo', title: 'a photo now', kind: 'action', values: { now: ONE } },
  ],
  stream: STREAM,
  async run(session) {
    await Promise.all([session.listen(STREAM), takePhotos(session)]);
  },
} satisfies Driver;

/** From switching on, the glasses take a photo every 30 s. */
async function takePhotos({ link, sink, log }: Session): Promise<void> {
  const assemble = createPhotoAssembler(() => sink.count('malformed'));
  let beganAtMs = 0;
  for await (const { bytes, atMs } of (await link.notifications(PHOTO_DATA, { optional: true })) ?? []) {
    if (isFirstPiece(bytes)) beganAtMs = atMs;
    const photo = assemble(bytes);
    const { jpeg, quarterTurns } = photo ?? {};
    if (!jpeg || quarterTurns === undefined) continue;
    await sink
      .photo(jpeg, { atMs: beganAtMs, quarterTurns })
      .catch(error => log.warn({ err: error }, 'a photo could not be kept'));
  }
}
