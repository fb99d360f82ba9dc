/**
 * The Wyoming protocol, by which Home Assistant asks for text: `describe` is answered by `info`; `transcribe`,
 * `audio-start`, `audio-chunk` and `audio-stop` by `transcript`. It knows no credentials.
 */
import { createServer, type Socket } from 'node:net';
import { createEventReader, encodeEvent, type WyomingEvent } from '../../../plugins/kit/wyoming/events.ts';
import { checkFormat } from '../../audio/codecs.ts';
import type { Clock } from '../../contract/model.ts';
import { MULTI } from '../../domain/languages.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { version } from '../../runtime/version.ts';
import type { NamedProvider } from '../recogniser/providers.ts';
import { createIntake, type Intake } from './intake.ts';
import type { Recognition } from './recognition.ts';
import { createSessions, type Limits, type Session, shownTo, watchIdle } from './sessions.ts';

interface Options {
  recognition: Recognition;
  limits: Limits;
  clock: Clock;
  log: Log;
}

const SAMPLE_BYTES = 2;
/** A client that does not take our last words is cut off after this. */
const CLOSE_WAIT_MS = 2000;
/** Answers that a client does not take. */
const MAX_UNSENT_BYTES = 1024 * 1024;
/** Connections past the limit that are told so, at a time. */
const MAX_REFUSED = 32;

/** A TCP server that does not listen yet, and what stops its sessions. */
export function createWyomingService({ recognition, limits, clock, log }: Options) {
  const sessions = createSessions(limits);
  const server = createServer(socket => {
    socket.on('error', () => undefined); // 'close' follows
    try {
      sessions.admit();
    } catch (thrown) {
      return hangUp(socket, failureEvent(shownTo(addressOf(socket), thrown, log)));
    }
    sessions.add(converse(socket));
  });
  server.maxConnections = limits.connections + MAX_REFUSED;

  function converse(socket: Socket): Session {
    const client = addressOf(socket);
    const leaving = new AbortController();
    const { signal } = leaving;
    const closed = Promise.withResolvers<void>();
    const reader = createEventReader();
    let intake: Intake | null = null;
    let asked: Record<string, unknown> = {};
    const idle = watchIdle(limits.idleMs, () => !intake?.isFull && !intake?.isOver, fail);

    function fail(thrown: unknown) {
      if (signal.aborted) return;
      const error = shownTo(client, thrown, log);
      leaving.abort(error);
      idle.end();
      hangUp(socket, failureEvent(error));
    }

    function obey({ type, data, payload }: WyomingEvent) {
      if (type === 'describe') socket.write(encodeEvent('info', infoOf(recognition.recognisers())));
      if (type === 'transcribe') asked = data;
      if (type === 'audio-start') begin(data);
      if (type === 'audio-chunk') begun().take(payload);
      if (type === 'audio-stop') begun().end();
    }

    function begin({ rate, width, channels }: Record<string, unknown>) {
      if (intake !== null)
        throw new AppError('invalid_request', 'audio-start came twice: connect again for each request');
      if (width !== SAMPLE_BYTES)
        throw new AppError('invalid_request', `audio-start: width must be ${SAMPLE_BYTES}`);
      const format = checkFormat({
        codec: 'pcm16',
        sampleRate: Number(rate),
        channels: Number(channels),
      });
      intake = createIntake({ format, seconds: limits.seconds, source: socket, signal });
      answer(intake).catch(fail);
    }

    function begun(): Intake {
      if (intake !== null && !intake.isOver) return intake;
      throw new AppError('invalid_request', 'Audio must come after audio-start, and before audio-stop');
    }

    async function answer(speech: Intake) {
      const language = typeof asked.language === 'string' ? asked.language : null;
      const wish = recognition.recognisers().find(each => modelOf(each) === asked.name)?.name ?? null;
      const texts: string[] = [];
      for await (const { text } of recognition.recognise(speech.samples(), { language, wish, signal }))
        texts.push(text.trim());
      hangUp(socket, encodeEvent('transcript', { text: texts.join(' ') }));
    }

    socket.on('data', bytes => {
      idle.alive();
      if (signal.aborted) return;
      if (socket.writableLength > MAX_UNSENT_BYTES) return void socket.destroy();
      try {
        for (const event of readEvents(reader, bytes)) obey(event);
      } catch (thrown) {
        fail(thrown);
      }
    });
    socket.on('close', () => {
      idle.end();
      leaving.abort(new AppError('unavailable', 'The client has left'));
      closed.resolve();
    });
    return {
      get isFinishing() {
        return intake?.isOver ?? false;
      },
      fail,
      closed: closed.promise,
    };
  }

  return { server, stop: () => sessions.stop(clock) };
}

/** @throws {AppError} `invalid_request` for what is not the protocol */
function readEvents(reader: ReturnType<typeof createEventReader>, bytes: Buffer): WyomingEvent[] {
  try {
    return reader.push(bytes);
  } catch (cause) {
    const message = 'This port speaks the Wyoming protocol, with events of at most 1 MiB';
    throw new AppError('invalid_request', message, { cause });
  }
}

function failureEvent({ code, message }: AppError): Buffer {
  return encodeEvent('error', { text: message, code });
}

/** Servers of this protocol close a connection once they have answered. */
function hangUp(socket: Socket, last: Buffer): void {
  socket.resume();
  socket.end(last);
  setTimeout(() => socket.destroy(), CLOSE_WAIT_MS).unref();
}

function infoOf(recognisers: NamedProvider[]): Record<string, unknown> {
  const about = {
    attribution: { name: 'Earshot', url: '' },
    installed: true,
    version,
  };
  const models = recognisers.map(each => ({
    ...about,
    name: modelOf(each),
    description: `Earshot: ${each.name}`,
    languages: languagesOf(each),
  }));
  return { asr: [{ ...about, name: 'earshot', description: 'Recognisers of Earshot', models }] };
}

function modelOf({ name, stt }: NamedProvider): string {
  return stt.model ?? name;
}

/** None: any. `multi` is a word of ours. */
function languagesOf({ stt }: NamedProvider): string[] {
  return stt.languages === 'any' ? [] : stt.languages.filter(language => language !== MULTI);
}

function addressOf(socket: Socket): string {
  return socket.remoteAddress ?? 'unknown';
}
