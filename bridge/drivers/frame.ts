import { onOneLine } from '../../core/runtime/terminal.ts';
import type { Driver, Framing, Ref, Session, WireFormat } from '../driver.ts';
import { smallMtu } from '../driver-host/declared.ts';
import { createFraming } from '../framing/framing.ts';
import { noCounts } from '../framing/packets.ts';
import { TimeLimitError } from '../guard.ts';

const SERVICE = '7a230001-5475-a6a4-654c-8431f6ad49c4';
const COMMANDS: Ref = { service: SERVICE, characteristic: '7a230002-5475-a6a4-654c-8431f6ad49c4' };
const ANSWERS: Ref = { service: SERVICE, characteristic: '7a230003-5475-a6a4-654c-8431f6ad49c4' };

/** Ends a running Lua program. 02 and 04 to 07 restart the glasses or erase files, and are never written. */
const BREAK = 0x03;
/** First byte of a notification that is not text. */
const DATA = 0x01;
/** Kind of data, as in the program that the app of Omi puts on these glasses. */
const KIND = { audio: 0xee, battery: 0xcc } as const;

/** Prefix of the program's own texts. */
const MARK = 'earshot';
const HELLO = `print('${MARK} '..frame.HARDWARE_VERSION..' '..frame.FIRMWARE_VERSION)`;
/**
 * Definitions in Lua, which stay in memory only. `es` sends, and gives up after a while; `er` reads as many bytes as
 * wanted; `el` is the loop, which ends with the connection. Halo would switch itself off in `sleep`; there, `yield`
 * waits.
 */
const DEFINITIONS = [
  `eh=frame.HARDWARE_VERSION:lower()=='halo' em=frame.microphone ec=frame.bluetooth.is_connected sc=string.char`,
  'ew=frame.yield or eh and function()end or function()frame.sleep(0.001)end',
  'function es(d)for i=1,500 do if not ec()or pcall(frame.bluetooth.send,d)then return end ew()end end',
  `function er(n)local d=''while #d<n do local r=em.read(n-#d)if not(r and ec())then return end if r==''then ew()end d=d..r end return d end`,
  'function el(n)local i,d=0,er(n)while d do es(sc(238,i%256,i//256%256,0)..d)if i%3000==0 then es(sc(204,frame.battery_level()//1))end i=i+1 d=er(n)end end',
];
/** The microphone may still run for an earlier connection. */
const START = `pcall(em.stop)if eh then em.start{encoder='lc3',sample_rate=16000,bitrate=24000}el(120)else em.start{sample_rate=8000,bit_depth=16}el(160)end em.stop()print'${MARK} end'`;

/** `[data][audio][u16 number][0]`, then as many bytes as the loop was told. */
const NUMBERED = { kind: 'counted', header: 5, counter: { at: 2, bits: 16, per: 'packet' } } as const;
const MODELS: Readonly<Record<'frame' | 'halo', { format: WireFormat; framing: Framing }>> = {
  frame: {
    format: { codec: 'pcm16', sampleRate: 8000, frameMs: 10 },
    framing: NUMBERED,
  },
  halo: {
    format: { codec: 'lc3_fs1030', sampleRate: 16000, frameMs: 10 },
    framing: { ...NUMBERED, frameBytes: 30 },
  },
};

/** The longest statement, and three bytes. */
const MIN_MTU = 185;
const SETTLE_MS = 1000;
const BREAK_MS = 300;
const ANSWER_MS = 3000;
const TRIES = 3;
const RESTART_MS = 1000;
const MAX_RESTARTS = 3;
const MAX_TEXT_CHARS = 100;

/** Frame and Halo of Brilliant Labs. They send no audio by themselves: a short program in Lua is typed in for that. */
export default {
  api: 1,
  name: 'frame',
  title: 'Frame and Halo (Brilliant Labs)',
  inferred: [
    'The program in Lua was tried in a Lua interpreter, and not on glasses.',
    'Frame carries 16-bit samples at 8 kHz in time; Halo encodes LC3 frames of 30 bytes at 24 kbit/s.',
  ],
  match: {
    advertised: [{ serviceUuid: SERVICE }],
    confirm: [COMMANDS, { ...ANSWERS, properties: ['notify'] }],
  },
  needs: { bonding: 'required' },
  writes: [{ ...COMMANDS, first: [BREAK, ...Buffer.from('efp')] }],
  async run(session) {
    const { link, sink, clock, log, unfit } = session;
    await clock.sleep(SETTLE_MS); // they ask for pairing and a longer MTU
    const tooSmall = smallMtu(link, { minMtu: MIN_MTU });
    if (tooSmall) throw unfit(tooSmall);
    const packets = await link.notifications(ANSWERS);
    const model = await greet(session);
    const { format } = MODELS[model];
    const track = sink.audio(format, { live: true });
    let take = createIntake(session, model, track);
    let restarts = 0;
    let startedAtMs = await start(session);
    for await (const { bytes, atMs } of packets) {
      if (bytes[0] === DATA) {
        take(bytes);
        continue;
      }
      const text = textOf(bytes);
      if (atMs < startedAtMs || text === '' || isEcho(text)) continue;
      restarts += 1;
      if (restarts > MAX_RESTARTS) throw unfit(`its program keeps ending: ${text}`);
      log.warn({ said: text }, 'the program on the glasses ended, and is restarted');
      await clock.sleep(RESTART_MS);
      take = createIntake(session, model, track);
      await greet(session);
      startedAtMs = await start(session);
    }
    track.end();
  },
} satisfies Driver;

/** Passes on what the program sends; it numbers from 0. */
function createIntake(
  { link, sink }: Session,
  model: keyof typeof MODELS,
  track: ReturnType<Session['sink']['audio']>,
): (packet: Uint8Array) => void {
  const { format, framing } = MODELS[model];
  const decoder = createFraming(framing, format, link);
  const counted = noCounts();
  return packet => {
    if (packet[1] === KIND.battery && packet.length === 3) return sink.battery(packet[2] ?? null);
    if (packet[1] !== KIND.audio) return sink.count('malformed');
    for (const { bytes, lostBefore } of decoder.push(packet).frames) track.frame(bytes, { lostBefore });
    const { duplicates, malformed, resets } = decoder.counts;
    sink.count('duplicate', duplicates - counted.duplicates);
    sink.count('malformed', malformed - counted.malformed);
    sink.count('reset', resets - counted.resets);
    Object.assign(counted, decoder.counts);
  };
}

/** Ends whatever program runs, until the prompt answers. */
async function greet(session: Session): Promise<keyof typeof MODELS> {
  const { link, clock, sink, unfit } = session;
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    await link.write(COMMANDS, Uint8Array.of(BREAK));
    await clock.sleep(BREAK_MS);
    const [, model = '', firmware = ''] = (await ask(session, HELLO, `${MARK} `)).split(' ');
    if (model === '') continue;
    sink.about({ model, ...(firmware && { firmware }) });
    return model.toLowerCase() === 'halo' ? 'halo' : 'frame';
  }
  throw unfit('its Lua prompt does not answer');
}

/** @returns when the program was started, after which any text is its end */
async function start(session: Session): Promise<number> {
  for (const [index, definition] of DEFINITIONS.entries()) {
    const answer = await ask(session, `${definition} print'${MARK} ${index}'`, `${MARK} ${index}`);
    if (answer === '') throw session.unfit('its Lua prompt stopped answering');
  }
  const startedAtMs = session.clock.now();
  await session.link.write(COMMANDS, Buffer.from(START));
  return startedAtMs;
}

/**
 * Has a statement run, and resolves with what it prints; empty: the glasses say nothing.
 * @throws Unfit with what the glasses say instead
 */
async function ask({ link, signal, unfit }: Session, statement: string, expected: string): Promise<string> {
  let said = '';
  const accepts = (bytes: Uint8Array) => {
    said = textOf(bytes) || said;
    return said.startsWith(expected);
  };
  try {
    return textOf(
      await link.ask(COMMANDS, Buffer.from(statement), { on: ANSWERS, accepts, limitMs: ANSWER_MS }),
    );
  } catch (error) {
    if (signal.aborted || !(error instanceof TimeLimitError)) throw error;
    if (said !== '') throw unfit(`it does not run the program that sends its audio: ${said}`);
    return '';
  }
}

/** Empty: data, not text. */
function textOf(bytes: Uint8Array): string {
  if (bytes[0] === DATA) return '';
  return onOneLine(Buffer.from(bytes).toString()).trim().slice(0, MAX_TEXT_CHARS);
}

/** An answer to `ask`. */
function isEcho(text: string): boolean {
  return text.startsWith(`${MARK} `) && text !== `${MARK} end`;
}
