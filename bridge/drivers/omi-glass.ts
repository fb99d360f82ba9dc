import type { Driver } from '../driver.ts';
import { OMI_STREAM } from './omi.ts';

const omi = (number: string) => `19b1${number}-e8f2-537e-4f6c-d104768a1214`;
const PHOTO_DATA = { service: omi('0000'), characteristic: omi('0005') };
const PHOTO_CONTROL = { service: omi('0000'), characteristic: omi('0006') };

const { audio, format, framing, minMtu, battery } = OMI_STREAM;

/**
 * Omi Glass and OpenGlass: the audio of a pendant, and a camera. Nothing is written: what are settings on a pendant is
 * the firmware update here.
 */
export default {
  api: 1,
  name: 'omi-glass',
  title: 'Omi Glass and OpenGlass',
  source: 'openglass',
  match: {
    advertised: [{ serviceUuid: omi('0000') }],
    confirm: [PHOTO_DATA, PHOTO_CONTROL, { service: omi('0000'), characteristic: omi('0002') }],
  },
  stream: { audio, format, ...(framing && { framing }), minMtu: minMtu ?? 0, ...(battery && { battery }) },
} satisfies Driver;
