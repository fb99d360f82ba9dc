import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createESPHomeHandshake, type HandshakeState } from 'esphome-client';
import {
  type Content,
  DEVICE_REQUEST,
  FEATURE,
  type GattService,
  type Message,
  type MessageName,
  messageOf,
  type Packet,
  packetOf,
} from '../../bridge/radios/esphome/messages.ts';
import type { AirDevice } from '../../bridge/simulator/controller.ts';

/** Reaction to a request of the bridge: its answer, silence, the end of the connection, or these bytes instead. */
type Fate = 'answer' | 'ignore' | 'drop' | Buffer;

export interface ProxyOptions {
  /** In base64; absent: not encrypted. */
  key?: string;
  slots?: number;
  features?: number;
  devices?: readonly AirDevice[];
  /** Signal strength of every device, in dBm; default: that of the device. */
  rssi?: number;
  port?: number;
}

/** A simulated Bluetooth proxy of ESPHome on a real socket. Its encryption (Noise) comes from another project. */
export interface SimulatedProxy {
  readonly port: number;
  /** Names of the received requests, oldest first. */
  readonly requests: readonly MessageName[];
  /** Notifications passed on to the bridge. */
  readonly notified: number;
  /** Devices that it is connected to. */
  readonly connected: readonly string[];
  readonly clients: number;
  /** Number of connections that clients have ever made. */
  readonly accepted: number;
  faults: {
    fate(name: MessageName): Fate;
    /** Error codes of the Attribute Protocol, by the name of the request that they answer. */
    refuse: Map<MessageName, number>;
    /** Whether the devices are out of reach: their advertisements are not received. */
    isOutOfReach: boolean;
    rssi: number | undefined;
    /** Returns whether this notification is dropped, as when the buffers of a board are full. */
    loses(number: number): boolean;
  };
  /** Sends bytes to every client unchanged. */
  send(bytes: Buffer): void;
  say<Name extends MessageName>(name: Name, content?: Partial<Content<Name>>): void;
  /** Ends every connection, as when a board restarts or loses its Wi-Fi. */
  restart(): void;
  stop(): Promise<void>;
}

const ALL =
  FEATURE.activeConnections |
  FEATURE.remoteCaching |
  FEATURE.rawAdvertisements |
  FEATURE.connectionParameters;
const ADVERTISE_MS = 20;
const MTU = 517;
const NO_ATTRIBUTE = 0x0a;
const [LIST_ENTITIES, LIST_ENTITIES_DONE] = [11, 19];

interface Client {
  send(packet: Packet): void;
  socket: Socket;
}

interface AirConnection {
  device: AirDevice;
  mtu: number;
  /** Handles whose notifications are passed on. */
  registered: Set<number>;
}

export async function startProxy(options: ProxyOptions = {}): Promise<SimulatedProxy> {
  const { key, slots = 3, features = ALL, devices = [] } = options;
  const clients = new Set<Client>();
  const connections = new Map<string, AirConnection>();
  const requests: MessageName[] = [];
  let subscriber: Client | null = null;
  let notified = 0;
  let notifications = 0;
  let accepted = 0;
  const faults: SimulatedProxy['faults'] = {
    fate: () => 'answer',
    refuse: new Map(),
    isOutOfReach: false,
    rssi: options.rssi,
    loses: () => false,
  };

  /** Only the client that subscribed to advertisements is told of connections. */
  function tell<Name extends MessageName>(name: Name, content?: Partial<Content<Name>>): void {
    subscriber?.send(packetOf(name, content));
  }

  function tellFree(): void {
    const allocated = [...connections.keys()].map(address => BigInt(`0x${address.replaceAll(':', '')}`));
    tell('connectionsFree', { free: slots - connections.size, limit: slots, allocated });
  }

  const advertising = setInterval(() => {
    if (faults.isOutOfReach) return;
    const advertisements = devices.flatMap(device => {
      const data = connections.has(device.address) ? null : device.advertisement();
      if (!data) return [];
      const rssi = faults.rssi ?? device.signalDbm ?? -50;
      return [
        { address: device.address, addressType: 1, rssi, data: Buffer.concat([data, device.scanResponse()]) },
      ];
    });
    if (advertisements.length > 0) tell('advertisements', { advertisements });
  }, ADVERTISE_MS);

  // ── devices ─────────────────────────────────────────────────────────────────────────────────────────────────

  function end(address: string, error: number): void {
    const connection = connections.get(address);
    if (!connections.delete(address)) return;
    connection?.device.disconnected();
    tell('deviceConnection', { address, isConnected: false, error });
    tellFree();
  }

  function connect(address: string, isCached: boolean): void {
    const device = devices.find(each => each.address === address);
    const outcome = faults.isOutOfReach ? 'ignore' : device?.attempt();
    if (connections.size >= slots || typeof outcome === 'number') {
      tell('deviceConnection', { address, error: typeof outcome === 'number' ? outcome : 0 });
      return;
    }
    if (!device || outcome !== 'accept') return;
    const connection: AirConnection = { device, mtu: 23, registered: new Set() };
    connections.set(address, connection);
    device.connected({
      send: pdu => onPdu(address, pdu),
      close: reason => end(address, reason),
      forget: () => device.disconnected(),
    });
    const agreed = device.receive(Buffer.of(0x02, MTU & 0xff, MTU >> 8));
    connection.mtu = Math.min(MTU, agreed?.readUInt16LE(1) ?? 23);
    // A board that has the services in its cache does not wait for the MTU.
    tell('deviceConnection', { address, isConnected: true, mtu: isCached ? 23 : connection.mtu });
    tellFree();
  }

  function onPdu(address: string, pdu: Buffer): void {
    const handle = pdu.readUInt16LE(1);
    if (pdu[0] !== 0x1b || !connections.get(address)?.registered.has(handle)) return;
    notifications += 1;
    if (faults.loses(notifications)) return;
    notified += 1;
    tell('notifyData', { address, handle, data: pdu.subarray(3) });
  }

  /** Sends one request to a device, and passes its answer to `take`; a device that does not answer causes no message. */
  function att(address: string, handle: number, pdu: Buffer, take: (answer: Buffer) => void): void {
    const connection = connections.get(address);
    if (!connection) {
      tell('gattError', { address, handle, error: -1 });
      return;
    }
    const answer = connection.device.receive(pdu);
    const ms = connection.device.answerMs?.() ?? 0;
    const pass = () => {
      if (!answer || !connections.has(address)) return;
      if (answer[0] === 0x01) tell('gattError', { address, handle, error: answer[4] ?? 0 });
      else take(answer);
    };
    if (ms > 0) setTimeout(pass, ms);
    else pass();
  }

  const request = (opcode: number, handle: number, value: Uint8Array = Buffer.of()) =>
    Buffer.concat([Buffer.of(opcode, handle & 0xff, handle >> 8), value]);

  type Say = <Name extends MessageName>(name: Name, content?: Partial<Content<Name>>) => void;
  /** Handlers of requests by name. */
  const HANDLERS: { [Name in MessageName]?: (content: Content<Name>, say: Say, client: Client) => void } = {
    helloRequest(_, say) {
      say('helloResponse', { major: 1, minor: 12, server: 'simulated', name: 'proxy' });
    },
    deviceInfoRequest(_, say) {
      const about = { name: 'proxy', version: '2026.10.0', model: 'simulated' };
      say('deviceInfoResponse', { ...about, bluetoothFeatures: features });
    },
    pingRequest(_, say) {
      say('pingResponse');
    },
    disconnectRequest(_, say, { socket }) {
      say('disconnectResponse');
      socket.end();
    },
    subscribeAdvertisements(_, _say, client) {
      subscriber ??= client;
    },
    subscribeConnectionsFree(_, say) {
      say('connectionsFree', { free: slots - connections.size, limit: slots });
    },
    deviceRequest({ address, type }) {
      if (type === DEVICE_REQUEST.disconnect && !connections.has(address))
        tell('deviceConnection', { address, isConnected: false });
      else if (type === DEVICE_REQUEST.disconnect) end(address, 0x16);
      else connect(address, type === DEVICE_REQUEST.connectWithCache);
    },
    getServices({ address }) {
      const connection = connections.get(address);
      const services = connection ? servicesOf(connection.device) : [];
      for (const service of services) tell('services', { address, services: [service] });
      if (connection) tell('servicesDone', { address });
      else tell('gattError', { address, error: -1 });
    },
    readRequest({ address, handle }) {
      att(address, handle, request(0x0a, handle), answer =>
        tell('readResponse', { address, handle, data: answer.subarray(1) }),
      );
    },
    writeRequest({ address, handle, data, response }) {
      const answer = () => tell('writeResponse', { address, handle });
      if (response) att(address, handle, request(0x12, handle, data), answer);
      else {
        connections.get(address)?.device.receive(request(0x52, handle, data));
        answer(); // a board also answers when the device does not
      }
    },
    writeDescriptorRequest({ address, handle, data }) {
      att(address, handle, request(0x12, handle, data), () => tell('writeResponse', { address, handle }));
    },
    notifyRequest({ address, handle }) {
      const connection = connections.get(address);
      connection?.registered.add(handle);
      if (connection) tell('notifyResponse', { address, handle });
      else tell('gattError', { address, handle, error: -1 });
    },
  };

  function handle(client: Client, { name, content }: Message): void {
    const error = faults.refuse.get(name);
    if (error !== undefined && 'handle' in content) {
      tell('gattError', { address: content.address, handle: content.handle, error });
      return;
    }
    const handler = HANDLERS[name] as ((content: unknown, say: Say, client: Client) => void) | undefined;
    handler?.(content, (answer, values) => client.send(packetOf(answer, values)), client);
  }

  // ── clients ─────────────────────────────────────────────────────────────────────────────────────────────────

  function receive(client: Client, packet: Packet): void {
    // Other kinds of clients list the entities of the board first: there are none.
    if (packet.type === LIST_ENTITIES) client.send({ type: LIST_ENTITIES_DONE, body: Buffer.of() });
    const message = messageOf(packet);
    if (!message) return;
    requests.push(message.name);
    const fate = faults.fate(message.name);
    if (fate === 'answer') handle(client, message);
    else if (fate === 'drop') client.socket.destroy();
    else if (fate !== 'ignore') client.socket.write(fate);
  }

  function serve(socket: Socket): void {
    const framing =
      key === undefined ? plainFraming(socket) : sealedFraming(socket, Buffer.from(key, 'base64'));
    const client: Client = {
      socket,
      send: packet => void (socket.writable && socket.write(framing.frame(packet))),
    };
    clients.add(client);
    accepted += 1;
    socket.on('error', () => {});
    socket.on('data', chunk => {
      for (const packet of framing.receive(chunk)) receive(client, packet);
    });
    socket.on('close', () => {
      clients.delete(client);
      if (subscriber !== client) return;
      subscriber = null;
      for (const address of [...connections.keys()]) end(address, 0x16); // as boards do
    });
  }

  const server = createServer(serve).listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const cut = () => {
    for (const { socket } of clients) socket.destroy();
  };
  return {
    port,
    requests,
    get notified() {
      return notified;
    },
    get connected() {
      return [...connections.keys()];
    },
    get clients() {
      return clients.size;
    },
    get accepted() {
      return accepted;
    },
    faults,
    send(bytes) {
      for (const { socket } of clients) socket.write(bytes);
    },
    say: (name, content) => {
      for (const client of clients) client.send(packetOf(name, content));
    },
    restart: cut,
    async stop() {
      clearInterval(advertising);
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}

// ── framing ───────────────────────────────────────────────────────────────────────────────────────────────────────

interface ServerFraming {
  frame(packet: Packet): Buffer;
  receive(chunk: Buffer): Packet[];
}

function plainFraming(socket: Socket): ServerFraming {
  let held: Buffer = Buffer.of();
  return {
    frame: plainFrame,
    receive(chunk) {
      held = Buffer.concat([held, chunk]);
      const packets: Packet[] = [];
      while (held.length > 0) {
        if (held[0] !== 0) {
          socket.end('\0Bad indicator byte');
          return packets;
        }
        const length = varintAt(held, 1);
        const type = length && varintAt(held, length.end);
        if (!length || !type || held.length < type.end + length.value) return packets;
        packets.push({ type: type.value, body: held.subarray(type.end, type.end + length.value) });
        held = held.subarray(type.end + length.value);
      }
      return packets;
    },
  };
}

export function plainFrame({ type, body }: Packet): Buffer {
  return Buffer.concat([Buffer.of(0), varint(body.length), varint(type), body]);
}

/** The library esphome-client does the encryption, in the role of the board. */
function sealedFraming(socket: Socket, psk: Buffer): ServerFraming {
  const handshake: HandshakeState = createESPHomeHandshake({ role: 'responder', psk });
  const nothing = Buffer.of();
  let held: Buffer = Buffer.of();
  let hasGreeted = false;

  const frameOf = (bytes: Uint8Array) =>
    Buffer.concat([Buffer.of(1, bytes.length >> 8, bytes.length & 0xff), bytes]);
  const refuse = (reason: string) =>
    void socket.end(frameOf(Buffer.concat([Buffer.of(1), Buffer.from(reason)])));

  function take(frame: Buffer): Packet | null {
    if (!hasGreeted) {
      hasGreeted = true;
      socket.write(frameOf(Buffer.from('\x01proxy\0aabbccddeeff\0')));
    } else if (!handshake.isComplete) {
      try {
        handshake.readMessage(frame.subarray(1));
        socket.write(frameOf(Buffer.concat([Buffer.of(0), handshake.writeMessage()])));
      } catch {
        refuse('Handshake MAC failure');
      }
    } else {
      const plain = handshake.receiveCipher?.DecryptWithAd(nothing, frame) ?? nothing;
      return { type: plain.readUInt16BE(0), body: plain.subarray(4, 4 + plain.readUInt16BE(2)) };
    }
    return null;
  }

  return {
    frame({ type, body }) {
      const header = Buffer.of(type >> 8, type & 0xff, body.length >> 8, body.length & 0xff);
      return frameOf(handshake.sendCipher?.EncryptWithAd(nothing, Buffer.concat([header, body])) ?? nothing);
    },
    receive(chunk) {
      held = Buffer.concat([held, chunk]);
      const packets: Packet[] = [];
      while (held.length >= 3 && socket.writable) {
        if (held[0] !== 1) {
          refuse('Bad indicator byte');
          return packets;
        }
        const end = 3 + held.readUInt16BE(1);
        if (held.length < end) return packets;
        const frame = Buffer.from(held.subarray(3, end));
        held = held.subarray(end);
        const packet = take(frame);
        if (packet) packets.push(packet);
      }
      return packets;
    },
  };
}

function varint(value: number): Buffer {
  return value < 0x80
    ? Buffer.of(value)
    : Buffer.concat([Buffer.of((value & 0x7f) | 0x80), varint(value >> 7)]);
}

function varintAt(bytes: Buffer, at: number): { value: number; end: number } | null {
  let value = 0;
  for (let index = 0; ; index += 1) {
    const byte = bytes[at + index];
    if (byte === undefined) return null;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
}

// ── services, asked of a device over the Attribute Protocol ───────────────────────────────────────────────────────

function servicesOf(device: AirDevice): GattService[] {
  return entriesOf(device, 0x10, 0x2800).map(({ handle, value }) => ({
    handle,
    ...uuidFields(value.subarray(2)),
    characteristics: characteristicsOf(device, handle, value.readUInt16LE(0)),
  }));
}

function characteristicsOf(device: AirDevice, first: number, last: number): GattService['characteristics'] {
  const found = entriesOf(device, 0x08, 0x2803, first, last);
  return found.map(({ value }, index) => {
    const handle = value.readUInt16LE(1);
    const next = found[index + 1]?.handle ?? last + 1;
    return {
      handle,
      properties: value[0] ?? 0,
      ...uuidFields(value.subarray(3)),
      descriptors: descriptorsOf(device, handle + 1, next - 1),
    };
  });
}

function descriptorsOf(device: AirDevice, first: number, last: number) {
  if (first > last) return [];
  const answer = device.receive(Buffer.of(0x04, first & 0xff, first >> 8, last & 0xff, last >> 8));
  if (answer?.[0] !== 0x05) return [];
  const size = answer[1] === 1 ? 4 : 18;
  return Array.from({ length: (answer.length - 2) / size }, (_, index) => {
    const entry = answer.subarray(2 + index * size, 2 + (index + 1) * size);
    return { handle: entry.readUInt16LE(0), ...uuidFields(entry.subarray(2)) };
  });
}

/** Reads all entries by Read By Type or Read By Group Type. */
function entriesOf(device: AirDevice, opcode: number, type: number, first = 1, last = 0xffff) {
  const entries: { handle: number; value: Buffer }[] = [];
  for (let from = first; from <= last; ) {
    const numbers = [from, last, type].flatMap(each => [each & 0xff, each >> 8]);
    const answer = device.receive(Buffer.of(opcode, ...numbers));
    if (!answer || (answer[0] === 0x01 && answer[4] === NO_ATTRIBUTE)) break;
    const size = answer[1] ?? 0;
    for (let at = 2; at < answer.length; at += size)
      entries.push({ handle: answer.readUInt16LE(at), value: answer.subarray(at + 2, at + size) });
    const lastOne = entries.at(-1);
    from = 1 + ((opcode === 0x10 ? lastOne?.value.readUInt16LE(0) : lastOne?.handle) ?? last);
  }
  return entries;
}

/** Converts a UUID from its little-endian bytes into what clients get: one short number, or two of 64 bits. */
function uuidFields(bytes: Buffer): { uuid: bigint[]; shortUuid: number } {
  if (bytes.length === 2) return { uuid: [], shortUuid: bytes.readUInt16LE(0) };
  return { uuid: [bytes.readBigUInt64LE(8), bytes.readBigUInt64LE(0)], shortUuid: 0 };
}
