/** Common interface of the two noble libraries, as far as the radio uses it. Types only. */
import type { EventEmitter } from 'node:events';

export interface Noble extends EventEmitter {
  /** Reading it for the first time opens the adapter. */
  readonly state: string;
  startScanning(serviceUuids: string[], allowDuplicates: boolean, done: (error?: Error | null) => void): void;
  stopScanning(done?: () => void): void;
  /** @stoprocent/noble only. */
  stop?(): void;
  /** Internals of both libraries: there is no public way to check incoming packets or to remove a device. */
  _bindings?: NobleBindings;
  _peripherals?: Table;
  _services?: Table;
  _characteristics?: Table;
  _descriptors?: Table;
  _discoveredPeripherals?: Table;
  _discoveredPeripheralUUids?: Table;
}

/** Devices by id: one library keeps them in a Map or a Set, the other in an object. */
export type Table = Map<string, unknown> | Set<string> | Record<string, unknown>;

export interface NobleBindings extends EventEmitter {
  /** Over HCI only. */
  _hci?: Hci | null;
  _gap?: { _discoveries?: Table } | null;
  /** Maps ids to handles and handles to ids. */
  _handles?: Record<string, string | number>;
  _aclStreams?: Record<number, unknown>;
  _gatts?: Record<string, Gatt>;
  _addresses?: Table;
  _addresseTypes?: Table;
  _connectable?: Table;
  scannable?: Table;
}

interface Gatt {
  _services?: Record<string, HandleRange>;
  _address: string;
  _mtu: number;
  emit(event: 'mtu', address: string, mtu: number): void;
}

export interface HandleRange {
  uuid: string;
  startHandle: number;
  endHandle: number;
}

export interface Hci extends EventEmitter {
  init(): void;
  pollIsDevUp?: () => void;
  onSocketData(packet: Buffer): void;
  setScanEnabled(enabled: boolean, filterDuplicates: boolean): void;
  disconnect(handle: number): void;
  flushAcl(): Promise<void>;
  writeAclDataPkt(handle: number, channel: number, data: Buffer): Promise<void>;
  /** Incomplete messages by connection. */
  _handleBuffers: Record<number, { length: number; data: Buffer }>;
  _aclQueue: unknown[];
  _socket: EventEmitter & { stop?: () => void };
}

export interface Peripheral extends EventEmitter {
  readonly id: string;
  readonly address: string;
  readonly addressType?: string;
  readonly rssi: number;
  readonly connectable: boolean;
  /** In @abandonware/noble this is the peer's maximum, which may exceed the negotiated value. */
  readonly mtu: number | null;
  readonly advertisement: { localName?: string; serviceUuids?: string[]; manufacturerData?: Buffer };
  /** Stays 'connected' in @abandonware/noble when the adapter goes down. */
  readonly state: string;
  connect(parameters: ConnectParameters, done: (error?: unknown) => void): void;
  cancelConnect(): void;
  disconnect(): void;
  /** The answer, if any, is the event `rssiUpdate`. */
  updateRssi(): void;
  discoverServices(uuids: string[], done: (error: unknown, services: Service[]) => void): void;
}

/** Intervals in 1.25 ms, the time limit in 10 ms. `mtu`: to ask for; @stoprocent/noble only. */
export interface ConnectParameters {
  mtu: number;
  minInterval: number;
  maxInterval: number;
  latency: number;
  timeout: number;
}

export interface Service {
  readonly uuid: string;
  discoverCharacteristics(uuids: string[], done: (error: unknown, found: Characteristic[]) => void): void;
}

export interface Characteristic extends EventEmitter {
  readonly uuid: string;
  readonly properties: string[];
  read(done: (error: unknown, data: Buffer) => void): void;
  write(data: Buffer, withoutResponse: boolean, done: (error?: unknown) => void): void;
  subscribe(done: (error?: unknown) => void): void;
}
