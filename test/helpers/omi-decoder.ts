import type { PacketDecoder, WireFormat } from '../../bridge/driver.ts';
import { OMI_STREAM } from '../../bridge/drivers/omi.ts';
import { createFraming } from '../../bridge/framing/framing.ts';

/** Decodes notifications of an Omi pendant into frames, as its driver declares them. */
export function omiDecoder(format: WireFormat, link: { mtu: number }): PacketDecoder {
  const { framing } = OMI_STREAM;
  if (!framing) throw new Error('the driver of Omi declares no framing');
  return createFraming(framing, format, link);
}
