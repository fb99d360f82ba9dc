/** What the two noble libraries have in common, as far as the radio uses it. Types only. */
import type { EventEmitter } from 'node:events';

export interface Noble extends EventEmitter {
  /** The first look opens the adapter. */
  readonly state: string;
  startScanning(serviceUuids: string[], allowDuplicates: boolean, done: (error?: Error | null) => void): void;
  stopScanning(done?: () => void): void;
  /** @stoprocent/noble only. */
  stop?(): void;
  /** The inside of both libraries over HCI; there is no public way to end the timer that keeps a process alive. */
  _bindings?: NobleBindings;
}

export interface NobleBindings {
  _hci?: { pollIsDevUp?: () => void; _socket?: { stop?: () => void } } | null;
}

export interface Peripheral extends EventEmitter {
  readonly id: string;
  readonly address: string;
  readonly rssi: number;
  readonly connectable: boolean;
  /** In @abandonware/noble the peer's own maximum, which may be above what was agreed. */
  readonly mtu: number | null;
  readonly advertisement: { localName?: string; serviceUuids?: string[] };
  /** Stays 'connected' in @abandonware/noble when the adapter goes down. */
  readonly state: string;
  connect(parameters: ConnectParameters, done: (error?: unknown) => void): void;
  cancelConnect(): void;
  disconnect(): void;
  discoverServices(uuids: string[], done: (error: unknown, services: Service[]) => void): void;
}

/** Intervals in 1.25 ms, the time limit in 10 ms. */
export interface ConnectParameters {
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
  subscribe(done: (error?: unknown) => void): void;
}
