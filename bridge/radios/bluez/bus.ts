import type { EventEmitter } from 'node:events';
import type { Message, MessageBus, Variant } from '@jellybrick/dbus-next';
import { guard } from '../../guard.ts';

/** A method call. Values of the answer are returned without their D-Bus types. */
export interface Call {
  destination?: string;
  path: string;
  interface: string;
  member: string;
  signature?: string;
  body?: unknown[];
  limitMs: number;
}

export interface Signal {
  sender: string;
  path: string;
  interface: string;
  member: string;
  body: unknown[];
}

/** A connection to the message bus of the system. */
export interface Bus {
  call(call: Call): Promise<unknown[]>;
  /** Wraps a value with its type, as entries of dictionaries need it. */
  variant(signature: string, value: unknown): unknown;
  onSignal(listener: (signal: Signal) => void): void;
  /** Serves an interface. `answer` returns the name of an error, or null for an empty answer. */
  serve(path: string, name: string, answer: (member: string) => string | null): void;
  /** Resolves with the reason when the connection is gone. */
  readonly closed: Promise<string>;
  close(): void;
}

/** Error returned by a method call; `errorName` is for example `org.bluez.Error.Failed`. */
export class BusError extends Error {
  readonly errorName: string;

  constructor(errorName: string, text: string) {
    super(text || errorName);
    this.errorName = errorName;
  }
}

export const DBUS = 'org.freedesktop.DBus';
const SYSTEM_BUS = 'unix:path=/var/run/dbus/system_bus_socket';
const CONNECT_MS = 5000;

/** Loads the D-Bus library, an optional dependency. @throws Error that says how to install it */
async function loadLibrary() {
  return import('@jellybrick/dbus-next').catch(() => {
    throw new Error('the package @jellybrick/dbus-next is not installed: npm install @jellybrick/dbus-next');
  });
}

/** @param address default: the system bus. @throws Error with the reason why it cannot be opened */
export async function openBus(address = SYSTEM_BUS): Promise<Bus> {
  const { sessionBus, Message, MessageType, Variant } = await loadLibrary();
  const bus = sessionBus({ busAddress: address, authMethods: ['EXTERNAL'] });
  const { promise: closed, resolve: end } = Promise.withResolvers<string>();
  const connected = new Promise<void>(resolve => bus.once('connect', () => resolve()));
  (bus as EventEmitter).on('error', error => end(`the message bus: ${error.message}`)); // missing in its types
  connectionOf(bus).on('end', () => end('the message bus has closed the connection'));
  await guard('connecting to the message bus', connected, { limitMs: CONNECT_MS, lost: closed });

  return {
    async call({ destination = 'org.bluez', limitMs, ...rest }) {
      const message = new Message({ destination, ...rest });
      const answer = bus.call(message).catch(error => {
        throw new BusError(String(error.type), String(error.text ?? error.message));
      });
      const reply = await guard(rest.member, answer, { limitMs, lost: closed });
      return (reply?.body ?? []).map(plain);
    },
    variant: (signature, value) => new Variant(signature, value),
    onSignal(listener) {
      bus.on('message', (message: Message) => {
        if (message.type !== MessageType.SIGNAL) return;
        const { sender, path, member, body } = message;
        listener({ sender, path, interface: message.interface, member, body: body.map(plain) });
      });
    },
    serve(path, name, answer) {
      bus.addMethodHandler((message: Message) => {
        if (message.path !== path || message.interface !== name) return false;
        const error = answer(message.member);
        bus.send(error === null ? Message.newMethodReturn(message) : Message.newError(message, error));
        return true;
      });
    },
    closed,
    close: () => bus.disconnect(),
  };
}

/** Returns the library's internal connection: there is no public event for its end. */
function connectionOf(bus: MessageBus): EventEmitter {
  return (bus as unknown as { _connection: EventEmitter })._connection;
}

/** Removes the type wrappers from a value. */
function plain(value: unknown): unknown {
  if (Buffer.isBuffer(value) || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  if ('signature' in value && 'value' in value) return plain((value as Variant).value);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}
