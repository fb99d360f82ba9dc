import { connect } from 'node:net';
import type { Clock } from '../../clock.ts';
import { guard } from '../../guard.ts';
import { type BudgetLimits, createBudget } from '../budget.ts';
import { createPlainFraming, createSealedFraming, type Framing } from './framing.ts';
import {
  type Content,
  type Message,
  type MessageName,
  messageOf,
  type Packet,
  packetOf,
} from './messages.ts';
import { ProxyError } from './proxy-error.ts';

/** Address of a proxy, and its encryption key. */
export interface ProxyAddress {
  host: string;
  port: number;
  /** Base64, as in the YAML of the board; absent: the connection is not encrypted. */
  key?: string | undefined;
}

export interface ConnectionLimits extends BudgetLimits {
  /** Time limit for the connection, the handshake and the description of the proxy. */
  helloMs: number;
  /** Time without a message after which a ping is sent. */
  pingMs: number;
  /** Time without a message after which the connection is closed. */
  silentMs: number;
}

/** Description of a proxy, sent by the proxy. */
export interface ProxyInfo extends Content<'deviceInfoResponse'> {
  isEncrypted: boolean;
}

/** An established connection to a proxy. */
export interface ProxyConnection {
  readonly info: ProxyInfo;
  send<Name extends MessageName>(name: Name, content?: Partial<Content<Name>>): void;
  /** Resolves with the reason when the connection has ended. */
  readonly closed: Promise<ProxyError>;
  /** Announces the end to the proxy and closes the connection. */
  close(): void;
}

const MAJOR = 1;
/** Minor version of the API; from this one on, 16-bit UUIDs are sent as such. */
const MINOR = 12;
/** Bytes that may wait to be sent; with more, the proxy has stopped reading. */
const MAX_UNSENT_BYTES = 256 * 1024;
/** Time until a closing connection is destroyed. */
const CLOSE_MS = 1000;

/**
 * Connects to a proxy and requests its description.
 * @param onMessage gets all further messages
 * @throws ProxyError with the reason why that is not possible
 */
export async function openConnection(
  { host, port, key }: ProxyAddress,
  {
    clock,
    limits,
    signal,
    onMessage,
    onMalformed,
  }: {
    clock: Clock;
    limits: ConnectionLimits;
    signal: AbortSignal;
    onMessage(message: Message): void;
    onMalformed(problem: string): void;
  },
): Promise<ProxyConnection> {
  const framing: Framing =
    key === undefined ? createPlainFraming() : createSealedFraming(Buffer.from(key, 'base64'));
  const { promise: closed, resolve } = Promise.withResolvers<ProxyError>();
  const socket = connect({ host, port });
  const isWithinBudget = createBudget(limits, clock);
  const opened = Promise.withResolvers<void>();
  let expected: { name: MessageName; resolve(message: Message): void } | null = null;
  let heardAt = clock.now();
  let isOver = false;

  function end(reason: ProxyError): void {
    if (isOver) return;
    isOver = true;
    clearInterval(watch);
    signal.removeEventListener('abort', onAbort);
    socket.end(); // sends what was written before
    setTimeout(() => socket.destroy(), CLOSE_MS).unref();
    resolve(reason);
  }

  const onAbort = () => end(new ProxyError('closed', 'it was cancelled'));
  signal.addEventListener('abort', onAbort, { once: true });
  const watch = setInterval(() => {
    const silentMs = clock.now() - heardAt;
    if (silentMs >= limits.silentMs) end(new ProxyError('off', 'it stopped responding'));
    else if (silentMs >= limits.pingMs && framing.isOpen) send('pingRequest');
  }, limits.pingMs / 2);
  watch.unref();

  function send<Name extends MessageName>(name: Name, content?: Partial<Content<Name>>): void {
    if (isOver) return;
    socket.write(framing.frame(packetOf(name, content)));
    if (socket.writableLength > MAX_UNSENT_BYTES) end(new ProxyError('off', 'it does not accept data'));
  }

  function receive(chunk: Buffer): void {
    if (isOver) return;
    heardAt = clock.now();
    try {
      const packets = framing.receive(chunk);
      if (framing.isOpen) opened.resolve();
      for (const packet of packets) take(packet);
      if (!isWithinBudget(chunk.length, packets.length))
        throw new ProxyError('off', 'it sends too much data');
    } catch (error) {
      end(error instanceof ProxyError ? error : new ProxyError('off', `it sent something invalid: ${error}`));
    }
  }

  function take(packet: Packet): void {
    const message = understood(packet);
    if (!message || isOver) return;
    if (message.name === 'pingRequest') send('pingResponse');
    else if (message.name === 'disconnectRequest') {
      send('disconnectResponse');
      end(new ProxyError('off', 'it closed the connection'));
    } else if (message.name === 'authenticationResponse' && message.content.isInvalid)
      end(new ProxyError('unauthorized', 'it requires a password; set api: encryption: in its YAML instead'));
    else if (expected?.name === message.name) expected.resolve(message);
    else onMessage(message);
  }

  function understood(packet: Packet): Message | null {
    try {
      return messageOf(packet);
    } catch {
      onMalformed(`a message ${packet.type} with invalid fields`);
      return null;
    }
  }

  socket.setNoDelay(true);
  socket.on('data', receive);
  socket.on('error', error => end(new ProxyError('off', `it cannot be reached: ${error.message}`)));
  socket.on('close', () => end(new ProxyError('off', 'the connection has ended')));

  /** Sends a request and waits for the answer. */
  function ask<Name extends MessageName>(question: () => void, answer: Name): Promise<Content<Name>> {
    const { promise, resolve: answered } = Promise.withResolvers<Message>();
    expected = { name: answer, resolve: answered };
    question();
    return promise.then(({ content }) => content as Content<Name>); // `expected` names it
  }

  async function greet(): Promise<ProxyInfo> {
    if (framing.greeting.length > 0) socket.write(framing.greeting);
    else opened.resolve();
    await opened.promise;
    const { major } = await ask(() => {
      send('helloRequest', { client: 'Earshot', major: MAJOR, minor: MINOR });
      send('authenticationRequest');
    }, 'helloResponse');
    if (major !== MAJOR) throw new ProxyError('unsupported', `it uses version ${major} of the API`);
    const info = await ask(() => send('deviceInfoRequest'), 'deviceInfoResponse');
    expected = null;
    return { ...info, isEncrypted: key !== undefined };
  }

  try {
    if (signal.aborted) onAbort();
    const failed = closed.then((reason): never => {
      throw reason;
    });
    const info = await guard('saying hello', Promise.race([greet(), failed]), { limitMs: limits.helloMs });
    return {
      info,
      send,
      closed,
      close() {
        send('disconnectRequest');
        end(new ProxyError('closed', 'closed by this side'));
      },
    };
  } catch (error) {
    const reason =
      error instanceof ProxyError
        ? error
        : new ProxyError('off', 'it does not answer as an ESPHome board does');
    end(reason);
    throw reason;
  }
}
