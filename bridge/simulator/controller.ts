import { EventEmitter } from 'node:events';

/** What the controller needs of a device on the air. */
export interface AirDevice {
  /** `c0:ff:ee:00:00:01`; a random static address. */
  address: string;
  /** Advertising data, at most 31 bytes; null: it does not advertise. */
  advertisement(): Buffer | null;
  scanResponse(): Buffer;
  /** What a connection attempt meets: a link, silence, or an HCI error status. */
  attempt(): 'accept' | 'ignore' | number;
  connected(link: AirLink): void;
  disconnected(): void;
  /** One ATT request; its answer, if any. */
  receive(pdu: Buffer): Buffer | null;
}

/** A connection, as the device sees it. */
export interface AirLink {
  send(pdu: Buffer): void;
  /** @param reason HCI status: 0x08 supervision timeout, 0x13 closed by the device */
  close(reason: number): void;
  /** The adapter loses the link and does not say so. */
  forget(): void;
}

/** Why there is no adapter, in the form in which the native sockets say it. */
export type AdapterFault = 'EAFNOSUPPORT' | 'EPERM' | 'ENODEV';

/**
 * A Bluetooth LE controller in memory: it answers HCI commands (Bluetooth Core, Vol 4 Part E) over a class with the
 * shape of the native HCI sockets, so that everything above the socket is the library's real code.
 */
export interface Controller {
  /** To be constructed in place of the native socket. */
  Socket: new () => EventEmitter;
  add(device: AirDevice): void;
  /** Down: every link goes without a word, as on a real adapter. */
  setUp(up: boolean): void;
  isUp(): boolean;
  /** HCI commands seen so far, oldest first. */
  readonly commands: readonly Command[];
  /** Calls `seen` for every command, before it is carried out; one at a time, the last given. */
  watch(seen: (command: Command) => void): void;
  isScanning(): boolean;
  /** Resolves when it scans. */
  scanning(): Promise<void>;
  /** Is a connection request under way? */
  isConnecting(): boolean;
}

export interface Command {
  opcode: number;
  parameters: Buffer;
}

export interface ControllerOptions {
  fault?: AdapterFault;
  /** Between two advertisements of a device. */
  advertisingMs?: number;
}

const ACL_LENGTH = 27;
const ACL_PACKETS = 4;
const ADDRESS = Buffer.from([0x55, 0x44, 0x33, 0x22, 0x11, 0x00]);
const ATT_CHANNEL = 0x0004;
/** HCI 5.0, so that the library does not refuse the controller. */
const VERSION = [0x09, 0, 0, 0x09, 0xff, 0xff, 0, 0];
const STATUS = { unknownCommand: 0x01, unknownConnection: 0x02, closedByHost: 0x16, timeout: 0x08 } as const;

interface Connection {
  handle: number;
  device: AirDevice;
  received: Buffer;
}

export function createController({ fault, advertisingMs = 20 }: ControllerOptions = {}): Controller {
  const sockets = new Set<VirtualSocket>();
  const devices = new Set<AirDevice>();
  const connections = new Map<number, Connection>();
  const commands: Command[] = [];
  let watcher: (command: Command) => void = () => {};
  let scanStarted = Promise.withResolvers<void>();
  let up = true;
  let nextHandle = 0x40;
  let pending: { address: Buffer; type: number } | null = null;
  let scanTimer: NodeJS.Timeout | null = null;

  // ── to the host ───────────────────────────────────────────────────────────────────────────────────────────────

  /** Never inside the host's own write: the libraries set their state after it. */
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

  /** By opcode: the event mask, LE mask, LE host support (write) and scan parameters need no more than "done". */
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
    4097: opcode => complete(opcode, [0, ...VERSION]),
    4105: opcode => complete(opcode, [0, ...ADDRESS]),
    8194: opcode => complete(opcode, [0, ACL_LENGTH, 0, ACL_PACKETS]),
    8195: opcode => complete(opcode, [0, 0, 0, 0, 0, 0, 0, 0, 0]), // no optional feature
    8204: (opcode, parameters) => {
      scan(parameters[0] === 1);
      complete(opcode);
    },
    8205: connect,
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

  function connect(opcode: number, parameters: Buffer): void {
    accepted(opcode);
    const request = { type: parameters[5] ?? 0, address: Buffer.from(parameters.subarray(6, 12)) };
    pending = request;
    setImmediate(() => {
      if (pending !== request || !up) return;
      const device = [...devices].find(({ address }) => addressBytes(address).equals(request.address));
      const attempt = device?.attempt() ?? 'ignore';
      if (attempt === 'ignore') return; // a controller keeps trying until the host cancels
      pending = null;
      if (attempt !== 'accept' || !device) return connectionComplete(Number(attempt), 0, request);
      establish(device, request);
    });
  }

  function establish(device: AirDevice, request: { address: Buffer; type: number }): void {
    const handle = nextHandle;
    nextHandle += 1;
    connections.set(handle, { handle, device, received: Buffer.alloc(0) });
    connectionComplete(0, handle, request);
    device.connected({
      send: pdu => sendAtt(handle, pdu),
      close: reason => drop(handle, reason),
      forget: () => forget(handle),
    });
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
    meta(0x01, parameters);
  }

  function drop(handle: number, reason: number): void {
    if (forget(handle)) event(0x05, Buffer.from([0, handle & 0xff, handle >> 8, reason]));
  }

  /** False: there is no such connection. */
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
    const busy = new Set([...connections.values()].map(({ device }) => device));
    for (const device of devices) {
      const advertisement = busy.has(device) ? null : device.advertisement();
      if (!advertisement) continue;
      for (const [type, data] of [
        [0x00, advertisement],
        [0x04, device.scanResponse()],
      ] as const)
        meta(0x02, [1, type, 1, ...addressBytes(device.address), data.length, ...data, 0xce]);
    }
  }

  // ── data ──────────────────────────────────────────────────────────────────────────────────────────────────────

  function sendAtt(handle: number, pdu: Buffer): void {
    const frame = Buffer.concat([uint16(pdu.length), uint16(ATT_CHANNEL), pdu]);
    for (let at = 0; at < frame.length; at += ACL_LENGTH) {
      const part = frame.subarray(at, at + ACL_LENGTH);
      const flags = at === 0 ? 0x2000 : 0x1000;
      deliver(Buffer.concat([Buffer.from([0x02]), uint16(handle | flags), uint16(part.length), part]));
    }
  }

  function receiveAcl(packet: Buffer): void {
    const header = packet.readUInt16LE(1);
    const handle = header & 0x0fff;
    event(0x13, Buffer.concat([Buffer.from([1]), uint16(handle), uint16(1)])); // or the host stops after ACL_PACKETS
    const connection = connections.get(handle);
    if (!connection) return;
    const isContinuation = header >> 12 === 0x1;
    const part = packet.subarray(5, 5 + packet.readUInt16LE(3));
    connection.received = isContinuation ? Buffer.concat([connection.received, part]) : Buffer.from(part);
    const frame = connection.received;
    if (frame.length < 4 || frame.length < 4 + frame.readUInt16LE(0)) return;
    if (frame.readUInt16LE(2) !== ATT_CHANNEL) return; // pairing and signalling are not modelled
    const answer = connection.device.receive(frame.subarray(4, 4 + frame.readUInt16LE(0)));
    if (answer) sendAtt(handle, answer);
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
    const parameters = Buffer.from(packet.subarray(4, 4 + (packet[3] ?? 0)));
    commands.push({ opcode, parameters });
    watcher({ opcode, parameters });
    if (!up) return; // as of now
    const run = COMMANDS[opcode];
    if (run) run(opcode, parameters);
    else complete(opcode, [STATUS.unknownCommand]);
  }

  return {
    Socket: VirtualSocket,
    add: device => void devices.add(device),
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

function systemError(code: AdapterFault, text: string): Error {
  return Object.assign(new Error(`${code}, ${text}`), { code });
}

function uint16(value: number): Buffer {
  return Buffer.from([value & 0xff, value >> 8]);
}

function addressBytes(address: string): Buffer {
  return Buffer.from(address.replaceAll(':', ''), 'hex').reverse();
}
