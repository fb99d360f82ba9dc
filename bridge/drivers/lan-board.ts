import { z } from 'zod';
import type { Driver, WireFormat } from '../driver.ts';

const own = (number: string) => `7c1a${number}-3d52-4e0b-9f6a-8d0f5be2a941`;
export const SERVICE = own('0000');
/** JSON: how the audio is coded. */
export const FORMAT = { service: SERVICE, characteristic: own('0001') };
/** u32 number of the frame, little-endian, then the frame. */
export const AUDIO = { service: SERVICE, characteristic: own('0002') };
/** One byte. */
export const BUTTON = { service: SERVICE, characteristic: own('0003') };
export const BATTERY = { service: '180f', characteristic: '2a19' };

const Format = z.object({ codec: z.string(), sampleRate: z.number(), frameMs: z.number() });

/** Boards that stream to the bridge over the local network: docs/lan-boards.md. */
export default {
  api: 1,
  name: 'lan-board',
  title: 'Boards on the local network',
  match: { advertised: [{ serviceUuid: SERVICE }], confirm: [FORMAT, AUDIO] },
  async run(session) {
    const text = Buffer.from(await session.link.read(FORMAT)).toString();
    const format: WireFormat = Format.parse(JSON.parse(text));
    await session.listen({
      audio: AUDIO,
      format,
      framing: { kind: 'counted', header: 4, counter: { at: 0, bits: 32, per: 'frame' } },
      battery: BATTERY,
      buttons: [
        {
          ...BUTTON,
          type: 'u8',
          map: { 1: 'single', 2: 'double', 3: 'triple', 4: 'long', 5: 'press', 6: 'release' },
        },
      ],
    });
  },
} satisfies Driver;
