import { type LuaEngine, LuaFactory } from 'wasmoon';
import { type Board, createBoard } from '../../bridge/simulator/board.ts';
import type { PeripheralOptions } from '../../bridge/simulator/peripherals.ts';

const GLASSES = (number: string) => `7a23${number}-5475-a6a4-654c-8431f6ad49c4`;
const COMMANDS = GLASSES('0002');
const ANSWERS = GLASSES('0003');
const BREAK = 0x03;
const ATT_HEADER_BYTES = 3;
const BATTERY_PERCENT = 77;
/** Maximum bytes in the microphone's buffer. */
const BUFFER_BYTES = 32_000;
/** Every seventh transfer is refused because Bluetooth is busy. */
const BUSY_EVERY = 7;

/**
 * Functions that the firmware offers to programs. Bytes are passed to and from JavaScript in hex. `sleep` and `yield` return
 * control to the glasses.
 */
const FIRMWARE = `
local digits, characters = {}, {}
for i = 0, 255 do
  digits[string.char(i)] = ('%02x'):format(i)
  characters[('%02x'):format(i)] = string.char(i)
end
local function hex(s) return (s:gsub('.', digits)) end
local function bytes(s) return (s:gsub('..', characters)) end
local running
print = function(...) host_print(hex(table.concat({...}, '\\t'))) end
frame = { HARDWARE_VERSION = host_model, FIRMWARE_VERSION = 'v25.080.0838' }
frame.battery_level = function() return ${BATTERY_PERCENT} end
frame[host_model == 'halo' and 'yield' or 'sleep'] = function() coroutine.yield() end
frame.bluetooth = {
  is_connected = function() return host_connected() end,
  max_length = function() return host_mtu() - ${ATT_HEADER_BYTES + 1} end,
  send = function(s)
    if #s > frame.bluetooth.max_length() then error('string length is greater than max_length()') end
    if not host_send(hex(s)) then error('bluetooth is busy') end
  end,
}
frame.microphone = {
  start = function(t) local wrong = host_start(t.encoder or 'pcm', t.sample_rate, t.bit_depth or 0, t.bitrate or 0)
    if wrong ~= '' then error(wrong) end end,
  stop = function() host_stop() end,
  read = function(n)
    local problem = host_problem()
    if problem ~= '' then error(problem) end
    local s = host_read(n)
    return s and bytes(s)
  end,
}
function step()
  if not running then return end
  local ok, problem = coroutine.resume(running)
  if not ok then print(problem) end
  if running and coroutine.status(running) == 'dead' then running = nil end
end
function run(statement)
  if running then return end
  local program, problem = load(statement)
  if not program then return print(problem) end
  running = coroutine.create(program)
  step()
end
function interrupt()
  if running then running = nil print('break signal') end
end
`;

export interface LuaGlasses extends Board {
  /** Statements that were run, in order. */
  readonly statements: readonly string[];
  /** Makes the next read of the microphone fail. */
  breakMicrophone(reason: string): void;
  /** Whether programs continue when the connection ends. */
  runsOn: boolean;
}

/** Simulated glasses that run the statements they receive in a real Lua interpreter. */
export function createGlasses(
  model: 'Frame' | 'halo',
  { address = 'c0:ff:ee:00:00:01', ...options }: PeripheralOptions,
): LuaGlasses {
  const statements: string[] = [];
  let lua: LuaEngine | null = null;
  let isConnected = false;
  let isListening = false;
  let heard = Buffer.alloc(0);
  let sending: Buffer[] = [];
  let transfers = 0;
  let problem = '';

  const host = {
    host_model: model,
    host_print: (text: string) => device.notifyAudio(Buffer.from(text, 'hex')),
    host_connected: () => isConnected || glasses.runsOn,
    host_problem() {
      const now = problem;
      problem = '';
      return now;
    },
    host_mtu: () => device.mtu,
    host_send(bytes: string) {
      transfers += 1;
      if (transfers % BUSY_EVERY === 0) return false;
      sending.push(Buffer.concat([Buffer.of(1), Buffer.from(bytes, 'hex')]));
      return true;
    },
    /** @returns the error; empty: started */
    host_start(encoder: string, sampleRate: number, bits: number, bitrate: number) {
      if (isListening) return 'already started';
      const isRight =
        model === 'halo'
          ? encoder === 'lc3' && sampleRate === 16_000 && bitrate === 24_000
          : sampleRate === 8000 && bits === 16;
      if (!isRight) return 'these glasses play another recording';
      heard = Buffer.alloc(0);
      isListening = true;
      device.play(true);
      return '';
    },
    host_stop() {
      isListening = false;
      device.play(false);
    },
    host_read(most: number): string | null {
      if (!isListening) return null;
      const bytes = heard.subarray(0, most);
      heard = heard.subarray(most);
      return bytes.toString('hex');
    },
  };

  const ready = new LuaFactory().createEngine().then(async engine => {
    for (const [name, value] of Object.entries(host)) engine.global.set(name, value);
    await engine.doString(FIRMWARE);
    for (const name of ['run', 'step', 'interrupt'] as const) entries[name] = engine.global.get(name);
    lua = engine;
  });
  type Entry = 'run' | 'step' | 'interrupt';
  const entries: Partial<Record<Entry, (statement?: string) => void>> = {};

  async function take(bytes: Buffer): Promise<void> {
    await ready;
    if (bytes[0] === BREAK) return entries.interrupt?.();
    statements.push(bytes.toString());
    entries.run?.(bytes.toString());
    flush();
  }

  /** Sends what a program sent while no audio was playing. */
  function flush(): void {
    for (const packet of sending) device.notifyAudio(packet);
    sending = [];
  }

  const device = createBoard({
    ...options,
    address,
    name: model === 'halo' ? 'Halo 4F' : 'Frame 4F',
    advertised: [GLASSES('0001')],
    services: [
      {
        uuid: GLASSES('0001'),
        characteristics: [
          {
            uuid: COMMANDS,
            properties: ['write', 'writeWithoutResponse'],
            write(bytes) {
              void take(bytes);
              return undefined;
            },
          },
          { uuid: ANSWERS, properties: ['notify'] },
        ],
      },
    ],
    audio: ANSWERS,
    waitsForStart: true,
    pack(frames) {
      heard = Buffer.concat([heard, ...frames]).subarray(-BUFFER_BYTES);
      entries.step?.();
      const packets = sending;
      sending = [];
      return packets;
    },
    onConnected() {
      isConnected = true;
    },
  });
  const { disconnected, stop } = device;
  const glasses: LuaGlasses = Object.assign(device, {
    statements,
    runsOn: false,
    breakMicrophone(reason: string) {
      problem = reason;
    },
    disconnected() {
      disconnected();
      isConnected = false;
      entries.step?.(); // its program ends with the connection
    },
    stop() {
      stop();
      delete entries.step;
      lua?.global.close();
      lua = null;
    },
  });
  return glasses;
}
