import { EventEmitter } from 'node:events';
import { addressBytes, encodeReport } from './reports.ts';

/** A simulated device in range of the controller. */
export interface AirDevice {
  /** `c0:ff:ee:00:00:01`; a random static address. */
  address: string;
  /** Advertising data, at most 31 bytes; null: it does not advertise. */
  advertisement(): Buffer | null;
  scanResponse(): Buffer;
  /** Decides the result of a connection attempt: a link, no answer, or an HCI error status. */
  attempt(): 'accept' | 'ignore' | number;
  connected(link: AirLink): void;
  disconnected(): void;
  /** Handles an ATT request. @returns the answer; null: none */
  receive(pdu: Buffer): Buffer | null;
  /** Handles a message of the Security Manager Protocol. @returns the answer; null: none */
  receivePairing?(pdu: Buffer): Buffer | null;
  /** Returns the delay of answers. */
  answerMs?(): number;
  /** Identity address that the adapter reports for a connection, as for a resolved private address. */
  identity?: string;
  /** Signal strength of its advertisements; default: strong. */
  signalDbm?: number;
}

/** A connection, as the device sees it. */
export interface AirLink {
  send(pdu: Buffer): void;
  /** @param reason HCI status: 0x08 supervision timeout, 0x13 closed by the device */
  close(reason: number): void;
  /** Drops the link without reporting it to the host. */
  forget(): void;
}

/** Error codes with which the native sockets report that there is no usable adapter. */
export type AdapterFault = 'EAFNOSUPPORT' | 'EPERM' | 'ENODEV';

/**
 * Simulated Bluetooth LE controller. It answers HCI commands (Bluetooth Core, Vol 4 Part E) through a class with the
 * interface of the native HCI sockets, so that the Bluetooth library above it runs unchanged.
 */
export interface Controller {
  /** Replaces the class of the native socket. */
  Socket: new () => EventEmitter;
  add(device: AirDevice): void;
  /** Passes a packet to the host as if it had been received over the air. */
  inject(packet: Uint8Array): void;
  /** Returns the handle of the connection to this device. */
  handleOf(device: AirDevice): number | undefined;
  setFault(fault: AdapterFault | undefined): void;
  /** Stops or resumes answering commands. */
  setSilent(silent: boolean): void;
  /** Answers commands to scan with this HCI status; 0: success. */
  refuseScan(status: number): void;
  /** Switches the adapter on or off. Off, all links are lost without a report, as on a real adapter. */
  setUp(up: boolean): void;
  isUp(): boolean;
  /** The latest HCI commands, oldest first; at least 1,000. */
  readonly commands: readonly Command[];
  /** Calls `seen` for every command, before it is carried out; one at a time, the last given. */
  watch(seen: (command: Command) => void): void;
  isScanning(): boolean;
  /** Resolves when it scans. */
  scanning(): Promise<void>;
  /** Returns whether a connection request is pending. */
  isConnecting(): boolean;
}

export interface Command {
  opcode: number;
  parameters: Buffer;
}

export interface ControllerOptions {
  fault?: AdapterFault;
  /** Interval between two advertisements of a device. */
  advertisingMs?: number;
  /** Data length extension; without it the adapter reports Bluetooth 4.0. */
  dataLength?: boolean;
  /** Extended advertising, as adapters of Bluetooth 5 have it. */
  extended?: boolean;
  /** Connections are reported by the enhanced event. */
  enhanced?: boolean;
  /** The host is told this much later that its packets were sent; default: at once. */
  congestionMs?: number;
  /** Lengths of the parts, in turn, in which it hands on what devices send; default: as long as it has room. */
  parts?: readonly number[];
}

const ACL_LENGTH = 27;
const ACL_PACKETS = 4;
const ADDRESS = Buffer.from([0x55, 0x44, 0x33, 0x22, 0x11, 0x00]);
const FIRST_HANDLE = 0x40;
const LAST_HANDLE = 0xeff; // highest connection handle that Bluetooth allows
const MAX_COMMANDS = 2048;
const ATT_CHANNEL = 0x0004;
const PAIRING_CHANNEL = 0x0006;
const version = (hci: number) => [hci, 0, 0, hci, 0xff, 0xff, 0, 0];
const BLUETOOTH_4_0 = 0x06; // the libraries refuse older ones
const BLUETOOTH_5_0 = 0x09;
const MAX_DATA_LENGTH = [251, 0, 0x90, 0x42];
const STATUS = { unknownCommand: 0x01, unknownConnection: 0x02, closedByHost: 0x16, timeout: 0x08 } as const;

interface Connection {
  handle: number;
  device: AirDevice;
  received: Buffer;
}

export function createController({
  fault: startFault,
  advertisingMs = 20,
  dataLength = true,
  extended = false,
  enhanced = false,
  congestionMs = 0,
  parts = [ACL_LENGTH],
}: ControllerOptions = {}): Controller {
  const sockets = new Set<VirtualSocket>();
  const devices = new Set<AirDevice>();
  const connections = new Map<number, Connection>();
  const commands: Command[] = [];
  let watcher: (command: Command) => void = () => {};
  let scanStarted = Promise.withResolvers<void>();
  let fault = startFault;
  let silent = false;
  let scanRefusal = 0;
  let up = true;
  let nextHandle = FIRST_HANDLE;
  let pending: { address: Buffer; type: number } | null = null;
  let scanTimer: NodeJS.Timeout | null = null;
  let partsSent = 0;

  // ── to the host ───────────────────────────────────────────────────────────────────────────────────────────────

  /** Delivers a packet later, never during the host's write: the libraries set their state after writing. */
  function deliver(packet: Buffer): void {
    setImmediate(() => {
      if (!up) return;
      for (const socket of sockets) if (socket.started) socket.emit('data', packet);
    });
  }
  const event = (code: number, parameters: Buffer) =>
    deliver(Buffer.concat([Buffer.from([0x04, code, parameters.length]), parameters]));
  const complete = (opcode: number, result: Iterable<number> = [0]) =>
    event(0x0e, Buffer.from([1, opcode & 0xff, opcode >> 8, ...result]));
  const accepted = (opcode: number) => event(0x0f, Buffer.from([0, 1, opcode & 0xff, opcode >> 8]));
  const meta = (code: number, parameters: Iterable<number>) =>
    event(0x3e, Buffer.from([code, ...parameters]));

  // ── commands ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Handlers by opcode. Event mask, LE event mask, LE host support and scan parameters only need a success status. */
  const COMMANDS: Record<number, (opcode: number, parameters: Buffer) => void> = {
    3073: opcode => complete(opcode),
    8193: opcode => complete(opcode),
    3181: opcode => complete(opcode),
    8203: opcode => complete(opcode),
    3075: opcode => {
      for (const { handle } of [...connections.values()]) drop(handle, STATUS.closedByHost);
      scan(false);
      complete(opcode);
    },
    3180: opcode => complete(opcode, [0, 1, 0]),
    4097: opcode => complete(opcode, [0, ...version(dataLength ? BLUETOOTH_5_0 : BLUETOOTH_4_0)]),
    4105: opcode => complete(opcode, [0, ...ADDRESS]),
    8194: opcode => complete(opcode, [0, ACL_LENGTH, 0, ACL_PACKETS]),
    8195: opcode => complete(opcode, [0, dataLength ? 0x20 : 0, extended ? 0x10 : 0, 0, 0, 0, 0, 0, 0]),
    8204: setScan,
    8258: setScan,
    8257: opcode => complete(opcode),
    8205: (opcode, parameters) => connect(opcode, parameters[5] ?? 0, parameters.subarray(6, 12)),
    8259: (opcode, parameters) => connect(opcode, parameters[2] ?? 0, parameters.subarray(3, 9)),
    8226: (opcode, parameters) => complete(opcode, [0, ...parameters.subarray(0, 2)]),
    8239: opcode => complete(opcode, [0, ...MAX_DATA_LENGTH, ...MAX_DATA_LENGTH]),
    5125: (opcode, parameters) => {
      const isThere = connections.has(parameters.readUInt16LE(0));
      complete(opcode, isThere ? [0, ...parameters.subarray(0, 2), 0xce] : [STATUS.unknownConnection]);
    },
    8206: opcode => {
      complete(opcode);
      const cancelled = pending;
      pending = null;
      if (cancelled) connectionComplete(STATUS.unknownConnection, 0, cancelled);
    },
    8211: (opcode, parameters) => {
      accepted(opcode);
      const [interval, latency, timeout] = [4, 6, 8].map(at => parameters.subarray(at, at + 2));
      meta(
        0x03,
        Buffer.concat([
          Buffer.from([0]),
          parameters.subarray(0, 2),
          ...[interval, latency, timeout].map(part => part ?? Buffer.alloc(2)),
        ]),
      );
    },
    1030: (opcode, parameters) => {
      accepted(opcode);
      drop(parameters.readUInt16LE(0), STATUS.closedByHost);
    },
  };

  function setScan(opcode: number, parameters: Buffer): void {
    const isOn = parameters[0] === 1;
    const status = isOn ? scanRefusal : 0;
    if (status === 0) scan(isOn);
    complete(opcode, [status]);
  }

  function connect(opcode: number, type: number, bytes: Buffer): void {
    accepted(opcode);
    const request = { type, address: Buffer.from(bytes) };
    pending = request;
    setImmediate(() => {
      if (pending !== request || !up) return;
      const device = [...devices].find(({ address }) => addressBytes(address).equals(request.address));
      const attempt = device && !isConnected(device) ? device.attempt() : 'ignore';
      if (attempt === 'ignore') return; // a controller keeps trying until the host cancels
      pending = null;
      if (attempt !== 'accept' || !device) return connectionComplete(Number(attempt), 0, request);
      establish(device, request);
    });
  }

  function establish(device: AirDevice, request: { address: Buffer; type: number }): void {
    const handle = takeHandle();
    connections.set(handle, { handle, device, received: Buffer.alloc(0) });
    const shown = device.identity ? { type: 0, address: addressBytes(device.identity) } : request;
    connectionComplete(0, handle, shown);
    device.connected({
      send: pdu => sendAtt(handle, pdu),
      close: reason => drop(handle, reason),
      forget: () => forget(handle),
    });
  }

  /** Whether a device is connected: then it does not advertise, and cannot be connected to. */
  function isConnected(device: AirDevice): boolean {
    return [...connections.values()].some(connection => connection.device === device);
  }

  function takeHandle(): number {
    while (connections.has(nextHandle)) nextHandle = afterHandle(nextHandle);
    const handle = nextHandle;
    nextHandle = afterHandle(handle);
    return handle;
  }

  function connectionComplete(
    status: number,
    handle: number,
    { address, type }: { address: Buffer; type: number },
  ) {
    const parameters = Buffer.alloc(18);
    parameters[0] = status;
    parameters.writeUInt16LE(handle, 1);
    parameters[4] = type;
    address.copy(parameters, 5);
    parameters.writeUInt16LE(24, 11); // interval, 30 ms
    parameters.writeUInt16LE(400, 15); // supervision timeout, 4 s
    if (!enhanced) return meta(0x01, parameters);
    const noResolvedAddresses = Buffer.alloc(12);
    meta(0x0a, Buffer.concat([parameters.subarray(0, 11), noResolvedAddresses, parameters.subarray(11)]));
  }

  function drop(handle: number, reason: number): void {
    if (forget(handle)) event(0x05, Buffer.from([0, handle & 0xff, handle >> 8, reason]));
  }

  /** Removes a connection without a report to the host. @returns false: there is none with this handle */
  function forget(handle: number): boolean {
    const connection = connections.get(handle);
    connections.delete(handle);
    connection?.device.disconnected();
    return connection !== undefined;
  }

  function scan(on: boolean): void {
    if (scanTimer) clearInterval(scanTimer);
    scanTimer = null;
    if (!on) return;
    scanStarted.resolve();
    scanStarted = Promise.withResolvers();
    scanTimer = setInterval(report, advertisingMs);
    scanTimer.unref();
    report();
  }

  function report(): void {
    for (const device of devices) {
      const advertisement = isConnected(device) ? null : device.advertisement();
      if (!advertisement) continue;
      for (const [type, data] of [
        [0x00, advertisement],
        [0x04, device.scanResponse()],
      ] as const)
        deliver(encodeReport(extended, type, device.address, data, device.signalDbm));
    }
  }

  // ── data ──────────────────────────────────────────────────────────────────────────────────────────────────────

  function sendAtt(handle: number, pdu: Buffer): void {
    send(handle, ATT_CHANNEL, pdu);
  }

  function nextPartBytes(): number {
    partsSent += 1;
    return parts[partsSent % parts.length] ?? ACL_LENGTH;
  }

  function send(handle: number, channel: number, pdu: Buffer): void {
    const frame = Buffer.concat([uint16(pdu.length), uint16(channel), pdu]);
    for (let at = 0, part = frame; at < frame.length; at += part.length) {
      part = frame.subarray(at, at + nextPartBytes());
      const flags = at === 0 ? 0x2000 : 0x1000;
      deliver(Buffer.concat([Buffer.from([0x02]), uint16(handle | flags), uint16(part.length), part]));
    }
  }

  function receiveAcl(packet: Buffer): void {
    const header = packet.readUInt16LE(1);
    const handle = header & 0x0fff;
    const sent = Buffer.concat([Buffer.from([1]), uint16(handle), uint16(1)]);
    if (congestionMs > 0) setTimeout(event, congestionMs, 0x13, sent).unref();
    else event(0x13, sent); // else the host stops after ACL_PACKETS
    const connection = connections.get(handle);
    if (!connection) return;
    const isContinuation = header >> 12 === 0x1;
    const part = packet.subarray(5, 5 + packet.readUInt16LE(3));
    connection.received = isContinuation ? Buffer.concat([connection.received, part]) : Buffer.from(part);
    const frame = connection.received;
    if (frame.length < 4 || frame.length < 4 + frame.readUInt16LE(0)) return;
    const channel = frame.readUInt16LE(2);
    const answer = answerOf(connection.device, channel, frame.subarray(4, 4 + frame.readUInt16LE(0)));
    if (!answer) return;
    const waitMs = connection.device.answerMs?.() ?? 0;
    if (waitMs > 0) setTimeout(send, waitMs, handle, channel, answer).unref();
    else send(handle, channel, answer);
  }

  /** Passes a message to the device. L2CAP signalling is not simulated. */
  function answerOf(device: AirDevice, channel: number, pdu: Buffer): Buffer | null {
    if (channel === ATT_CHANNEL) return device.receive(pdu);
    return channel === PAIRING_CHANNEL ? (device.receivePairing?.(pdu) ?? null) : null;
  }

  // ── the socket ────────────────────────────────────────────────────────────────────────────────────────────────

  class VirtualSocket extends EventEmitter {
    started = false;

    constructor() {
      super();
      if (fault === 'EAFNOSUPPORT') throw systemError(fault, 'Address family not supported by protocol');
      sockets.add(this);
    }
    bindRaw(): number {
      if (fault === 'ENODEV') throw systemError(fault, 'No such device');
      return 0;
    }
    bindUser(): number {
      return this.bindRaw();
    }
    isDevUp(): boolean {
      return up && fault === undefined;
    }
    setFilter(): void {}
    start(): void {
      this.started = true;
      if (fault === 'EPERM')
        setImmediate(() => this.emit('error', systemError('EPERM', 'Operation not permitted')));
    }
    stop(): void {
      this.started = false;
      sockets.delete(this);
    }
    reset(): void {}
    write(packet: Buffer): void {
      if (!up) return;
      if (packet[0] === 0x02) receiveAcl(Buffer.from(packet));
      else receiveCommand(packet);
    }
  }

  function receiveCommand(packet: Buffer): void {
    const opcode = packet.readUInt16LE(1);
    const parameters = ownCopy(packet.subarray(4, 4 + (packet[3] ?? 0)));
    commands.push({ opcode, parameters });
    if (commands.length > MAX_COMMANDS) commands.splice(0, MAX_COMMANDS / 2);
    watcher({ opcode, parameters });
    if (!up || silent) return; // the state may have changed since it was queued
    const run = COMMANDS[opcode];
    if (run) run(opcode, parameters);
    else complete(opcode, [STATUS.unknownCommand]);
  }

  return {
    Socket: VirtualSocket,
    add: device => void devices.add(device),
    inject: packet => deliver(Buffer.from(packet)),
    handleOf: device => [...connections.values()].find(connection => connection.device === device)?.handle,
    setFault(next) {
      fault = next;
    },
    setSilent(next) {
      silent = next;
    },
    refuseScan(status) {
      scanRefusal = status;
      if (status !== 0) scan(false);
    },
    setUp(next) {
      up = next;
      if (up) return;
      pending = null;
      scan(false);
      const lost = [...connections.values()];
      connections.clear();
      for (const { device } of lost) device.disconnected();
    },
    isUp: () => up,
    commands,
    watch(seen) {
      watcher = seen;
    },
    isScanning: () => scanTimer !== null,
    scanning: () => (scanTimer === null ? scanStarted.promise : Promise.resolve()),
    isConnecting: () => pending !== null,
  };
}

/** Copies bytes into a buffer of their own: a small buffer from Node's pool would keep the whole pool in memory. */
function ownCopy(bytes: Buffer): Buffer {
  const copy = Buffer.alloc(bytes.length);
  bytes.copy(copy);
  return copy;
}

function afterHandle(handle: number): number {
  return handle === LAST_HANDLE ? FIRST_HANDLE : handle + 1;
}

function systemError(code: AdapterFault, text: string): Error {
  return Object.assign(new Error(`${code}, ${text}`), { code });
}

function uint16(value: number): Buffer {
  return Buffer.from([value & 0xff, value >> 8]);
}
