import {
  addressText,
  commandResult,
  createBeginnings,
  dataLengthOf,
  inspectMessage,
  inspectPacket,
  isAdvertisement,
  isFlowControl,
  isSetScanEnable,
  kindOfMessage,
  mtuAskedFor,
  type PacketFault,
  refusalOf,
} from './hci-packets.ts';
import { firstLine } from './library.ts';
import type { Hci, Noble, NobleBindings } from './noble.ts';

export type Refusal = { att: number } | { pairing: number };

export interface InputEvents {
  /** A malformed packet was withheld from the library. `device`: id of the device from whose connection it came. */
  onFault(fault: PacketFault, device: string | null): void;
  /** The library failed, or cannot go on, with one connection. */
  onBrokenLink(device: string, problem: string): void;
  /** The library failed, and its state can no longer be trusted. */
  onBroken(problem: string): void;
  onRefusal(device: string, refusal: Refusal): void;
  onAdvertisement(): void;
  /** The adapter answered the command to scan. @param status HCI status; 0: it scans */
  onScanAnswer(status: number): void;
  onVersion(version: { hci?: number; hasDataLength?: boolean }): void;
  /** The device that is being connected to. */
  connecting(): { address: string; addressType?: string } | null;
}

const READ_RSSI = 0x1405;
const READ_VERSION = 0x1001;

/**
 * Stands between the adapter and the library, which throws inside its own event handlers when a packet is malformed,
 * and would end the process. Over HCI only; elsewhere the operating system takes packets apart. To be called when the
 * adapter is open.
 * @returns whether there is anything to guard
 */
export function guardInput(noble: Noble, events: InputEvents): boolean {
  const bindings = noble._bindings;
  const hci = bindings?._hci;
  if (!bindings || !hci?._socket) return false;
  const input = createInput(bindings, hci, events);

  // Listeners are replaced; wrapping `emit` does not work, since one of the native sockets captures it when it starts.
  const attach = () => {
    hci._socket.removeAllListeners('data');
    hci._socket.on('data', input.receive);
  };
  const init = hci.init;
  hci.init = () => {
    init.call(hci); // again when the adapter was off and is back
    attach();
  };
  attach();

  const emit = hci.emit.bind(hci);
  hci.emit = (name: string, ...values: unknown[]) => {
    if (name === 'aclDataPkt')
      return input.message(values as [number, number, Buffer], () => emit(name, ...values));
    if (name === 'encryptChange') return input.encrypted(values[0] as number, () => emit(name, ...values));
    return emit(name, ...values);
  };
  const setScanEnabled = hci.setScanEnabled;
  hci.setScanEnabled = (enabled, filterDuplicates) => {
    input.scanAsked(enabled);
    setScanEnabled.call(hci, enabled, filterDuplicates);
  };
  hci.on('disconnComplete', (handle: number) => {
    delete hci._handleBuffers[handle];
    input.forget(handle);
  });
  catchRejections(hci, events);
  return true;
}

function createInput(bindings: NobleBindings, hci: Hci, events: InputEvents) {
  /** Whether each command to scan that is not answered yet switches it on. */
  const scanCommands: boolean[] = [];
  const deviceOf = (handle: number | undefined) =>
    handle === undefined ? null : String(bindings._handles?.[handle] ?? '') || null;

  const beginnings = createBeginnings(contain);

  function contain(fault: PacketFault): void {
    if (fault.handle !== undefined) delete hci._handleBuffers[fault.handle]; // a message that this packet was part of
    events.onFault(fault, deviceOf(fault.handle));
  }

  /** Returns false for a packet that the library must not get. */
  function observe(packet: Buffer): boolean {
    const result = commandResult(packet);
    if (!result) return true;
    const { opcode, status } = result;
    if (isSetScanEnable(opcode) && scanCommands.shift()) events.onScanAnswer(status);
    if (opcode === READ_VERSION && status === 0) events.onVersion({ hci: packet[7] ?? 0 });
    const hasDataLength = dataLengthOf(packet);
    if (hasDataLength !== null) events.onVersion({ hasDataLength });
    // The library would accept a failed answer, or one for another connection, as the signal strength it asked for.
    return opcode !== READ_RSSI || (status === 0 && deviceOf(packet.readUInt16LE(7)) !== null);
  }

  function receive(packet: Buffer): void {
    if (isFlowControl(packet)) return;
    const fault = inspectPacket(packet);
    if (fault) contain(fault);
    const complete = fault ? null : beginnings.complete(packet);
    if (complete && observe(complete)) handOn(complete);
  }

  function handOn(packet: Buffer): void {
    const handle = packet[0] === 0x02 ? packet.readUInt16LE(1) & 0x0fff : undefined;
    if (handle !== undefined && !bindings._aclStreams?.[handle]) return; // closed meanwhile
    const isStrangers = isAdvertisement(packet);
    if (isStrangers) events.onAdvertisement();
    else matchIdentity(packet, events.connecting());
    try {
      if (isNewLink(packet)) endEarlierLinks(packet);
      hci.onSocketData(packet);
    } catch (error) {
      if (isStrangers) contain({ kind: 'advertisement', problem: firstLine(error) });
      else events.onBroken(firstLine(error));
    }
    if (handle !== undefined) dropOverlong(handle);
  }

  /**
   * If a new connection has the handle or the device of an earlier one, the end of the earlier one was not reported.
   * The library would keep its state for ever, and later end the new connection instead.
   */
  function endEarlierLinks(packet: Buffer): void {
    const handle = packet.readUInt16LE(5);
    const earlier = bindings._handles?.[addressText(packet.subarray(9, 15)).replaceAll(':', '')];
    for (const each of new Set([handle, Number(earlier ?? handle)]))
      if (bindings._aclStreams?.[each]) hci.onSocketData(disconnection(each));
  }

  /** Limits reassembly: the library waits for exactly the announced length, and would collect any number of bytes. */
  function dropOverlong(handle: number): void {
    const partial = hci._handleBuffers[handle];
    if (!partial || partial.data.length <= partial.length) return;
    contain({ kind: 'data', problem: 'a message is longer than its header says', handle });
  }

  function message([handle, channel, data]: [number, number, Buffer], deliver: () => boolean): boolean {
    const device = deviceOf(handle);
    const refusal = refusalOf(channel, data);
    if (device && refusal) events.onRefusal(device, refusal);
    const fault = inspectMessage(channel, data) ?? attempt(deliver);
    const mtu = fault ? null : mtuAskedFor(channel, data);
    if (mtu !== null) takeMtu(handle, mtu);
    if (!fault) return true;
    const { problem } = fault;
    const kind = kindOfMessage(channel, data);
    events.onFault({ kind, problem, handle }, device);
    // The request that this answers would wait for ever, and every later one behind it.
    if (kind === 'answer' && device) events.onBrokenLink(device, `its answer is malformed: ${problem}`);
    return true;
  }

  /** The library agrees to the MTU that a device asks for, and would go on with the one before. */
  function takeMtu(handle: number, mtu: number): void {
    const gatt = bindings._gatts?.[handle];
    if (!gatt) return;
    gatt._mtu = mtu;
    gatt.emit('mtu', gatt._address, mtu);
  }

  function attempt(deliver: () => boolean): { problem: string } | null {
    try {
      deliver();
      return null;
    } catch (error) {
      return { problem: firstLine(error) };
    }
  }

  return {
    receive,
    forget: beginnings.forget,
    message,
    encrypted(handle: number, deliver: () => boolean): boolean {
      const problem = 'an encryption change that was not asked for';
      if (attempt(deliver)) events.onFault({ kind: 'event', problem, handle }, deviceOf(handle));
      return true;
    },
    scanAsked(enabled: boolean) {
      scanCommands.push(enabled);
      if (scanCommands.length > 16) scanCommands.shift(); // the adapter answers none of them
    },
  };
}

/** Catches what the library throws while it sends to a connection that was closed meanwhile. */
function catchRejections(hci: Hci, { onBroken }: InputEvents): void {
  const { flushAcl, writeAclDataPkt } = hci;
  hci.flushAcl = () =>
    flushAcl.call(hci).catch(error => {
      if (!(error instanceof TypeError)) onBroken(firstLine(error));
      else if (hci._aclQueue.length > 0) return hci.flushAcl(); // the failed packet has left the queue
    });
  hci.writeAclDataPkt = (handle, channel, data) =>
    writeAclDataPkt.call(hci, handle, channel, data).catch(error => onBroken(firstLine(error)));
}

const CONNECTION_COMPLETE = new Set([0x01, 0x0a]);

/** Builds the event that an adapter sends when a connection has timed out. */
function disconnection(handle: number): Buffer {
  return Buffer.from([0x04, 0x05, 4, 0, handle & 0xff, handle >> 8, 0x08]);
}

/** Recognises the report of a connection that this side has made; the libraries ignore other ones. */
function isNewLink(packet: Buffer): boolean {
  const isComplete = packet[0] === 0x04 && packet[1] === 0x3e && CONNECTION_COMPLETE.has(packet[3] ?? 0);
  return isComplete && packet[4] === 0 && packet[7] === 0;
}

/**
 * Replaces the address in the report of a connection by the requested one. An adapter that resolves private addresses
 * reports the device's identity address instead, which the libraries do not recognise.
 */
function matchIdentity(packet: Buffer, wanted: { address: string } | null): void {
  if (!isNewLink(packet) || !wanted) return;
  const asked = wanted.address.toLowerCase();
  const told = addressText(packet.subarray(9, 15));
  if (told === asked || !isResolvable(asked) || isResolvable(told)) return;
  packet[8] = 0x01;
  Buffer.from(asked.replaceAll(':', ''), 'hex').reverse().copy(packet, 9);
}

/** The two highest bits of a resolvable private address are 01. */
function isResolvable(address: string): boolean {
  return Number.parseInt(address.slice(0, 2), 16) >> 6 === 0b01;
}
