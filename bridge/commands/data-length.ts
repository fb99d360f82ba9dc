import { createRequire } from 'node:module';
import { guard } from '../guard.ts';
import { dataLengthOf } from '../radios/noble/hci-packets.ts';

/** The part of a native HCI socket that is needed here. */
interface HciSocket {
  bindRaw(deviceId: number): number;
  setFilter(filter: Buffer): void;
  on(event: 'data', listener: (packet: Buffer) => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  start(): void;
  stop(): void;
  write(packet: Buffer): void;
}

const PACKAGES = ['@abandonware/bluetooth-hci-socket', '@stoprocent/bluetooth-hci-socket'];
/** The command LE Read Local Supported Features, which changes nothing for programs that use the adapter. */
const READ_LE_FEATURES = Buffer.from('01032000', 'hex');
const LIMIT_MS = 2000;

/**
 * Asks an adapter whether it has the data length extension, with which packets hold more than 27 bytes.
 * @param deviceId 1 for hci1
 * @throws Error where it cannot be asked: no permission, no package, no answer
 */
export async function readDataLength(deviceId: number, load = loadSocket): Promise<boolean> {
  const socket = new (load())();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  socket.on('error', reject);
  socket.on('data', packet => {
    const answer = dataLengthOf(packet);
    if (answer !== null) resolve(answer);
  });
  try {
    socket.bindRaw(deviceId);
    socket.setFilter(eventFilter());
    socket.start();
    socket.write(READ_LE_FEATURES);
    return await guard('asking the adapter', promise, { limitMs: LIMIT_MS });
  } finally {
    promise.catch(() => {});
    socket.stop();
  }
}

/** Only events that complete a command. */
function eventFilter(): Buffer {
  const [eventPackets, commandComplete] = [1 << 0x04, 1 << 0x0e];
  const filter = Buffer.alloc(14);
  filter.writeUInt32LE(eventPackets, 0);
  filter.writeUInt32LE(commandComplete, 4);
  return filter;
}

/** @throws Error where none of the packages is installed */
function loadSocket(): new () => HciSocket {
  const require = createRequire(import.meta.url);
  for (const name of PACKAGES) {
    try {
      return require(name);
    } catch {
      // the next one may be there
    }
  }
  throw new Error('no package for Bluetooth sockets is installed');
}
