import type { Counts } from '../events.ts';

/** Returns a function that passes counts on to `tell`, unless only the time without connection has changed. */
export function changedCounts(before: Counts, tell: (counts: Counts) => void): (counts: Counts) => void {
  const essence = ({ devices, ...counts }: Counts) =>
    JSON.stringify({ ...counts, devices: devices.map(device => ({ ...device, notConnectedMs: 0 })) });
  let told = essence(before);
  return counts => {
    const now = essence(counts);
    if (now === told) return;
    told = now;
    tell(counts);
  };
}
