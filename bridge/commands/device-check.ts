import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { asCalled } from '../../config/called-as.ts';
import { type DriverCheck, driverChecks } from '../conformance/driver.ts';
import { fingerprint, replay } from '../conformance/replay.ts';
import { parseTrace, type Trace } from '../conformance/trace.ts';
import type { Advertised, CountedFraming, Driver, Framing, Step, Stream, WireFormat } from '../driver.ts';
import { loadDriver } from '../driver-host/driver-check.ts';
import { declaredWrites } from '../driver-host/writes.ts';

/** Result of `device check`. */
export interface DeviceReport {
  lines: string[];
  isGood: boolean;
}

/**
 * Checks the description of a device, explains it, and replays a trace with it.
 * @throws Error that names each invalid field
 */
export async function checkDevice(file: string, traceFile?: string): Promise<DeviceReport> {
  const driver = await loadDriver(file, resolve(file));
  const lines = [`${file}: ${driver.title} (${driver.name}), a driver of version 1`, ...explain(driver)];
  if (!traceFile) {
    lines.push(
      '',
      asCalled(`It was not tested. Record a trace with: earshot device record FILE --driver ${file}`),
    );
    return { lines, isGood: true };
  }
  const trace = await readTrace(traceFile);
  const played = await playTrace(driver, trace, traceFile);
  const checks = await Promise.all(driverChecks.map(check => runCheck(check, driver, trace)));
  return {
    lines: [...lines, '', ...played, '', ...checks.map(({ line }) => line)],
    isGood: checks.every(({ isGood }) => isGood),
  };
}

async function readTrace(file: string): Promise<Trace> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Error(`${file}: there is no such file`);
  });
  try {
    return parseTrace(text);
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : error}`);
  }
}

async function runCheck({ title, run }: DriverCheck, driver: Driver, trace: Trace) {
  try {
    await run({ driver, trace });
    return { line: `  ok    ${title}`, isGood: true };
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).split('\n')[0];
    return { line: `  FAIL  ${title}: ${reason}`, isGood: false };
  }
}

async function playTrace(driver: Driver, trace: Trace, file: string): Promise<string[]> {
  const got = await replay(driver, trace);
  const { live, stored, counts, formats, buttons, photos, error } = got;
  const notifications = trace.events.filter(event => 'notify' in event).length;
  const frameMs = formats[0]?.frameMs ?? 0;
  const others = [
    stored.length > 0 ? `${stored.length} frames that it had stored` : '',
    buttons.length > 0 ? `buttons: ${buttons.join(', ')}` : '',
    photos.length > 0 ? `${photos.length} photos` : '',
    error ? `it ended with: ${error.message}` : '',
  ].filter(text => text !== '');
  const { lost, duplicates, malformed, resets } = counts;
  return [
    `${file} (${trace.origin}): ${notifications} notifications`,
    `  ${live.length} frames of live audio, ${((live.length * frameMs) / 1000).toFixed(2)} s; lost ${lost}, duplicates ${duplicates}, malformed ${malformed}, restarts of the counter ${resets}`,
    ...others.map(text => `  ${text}`),
    `  SHA-256 of the frames: ${fingerprint(got)}`,
  ];
}

// ── in words ────────────────────────────────────────────────────────────────────────────────────────────────────────

function explain(driver: Driver): string[] {
  const { match, stream, run, needs, controls = [] } = driver;
  const writes = declaredWrites(driver);
  return [
    `  found by    ${match.advertised.map(advertised).join('; or ')}`,
    ...match.confirm.map(
      ({ characteristic, absent, properties = [] }) =>
        `  confirmed   ${characteristic} ${absent ? 'must not be there' : ['must be there', ...properties].join(', ')}`,
    ),
    ...(stream ? explainStream(stream) : []),
    ...controls.map(
      ({ name, kind, characteristic }) => `  control     ${name} (${kind}), written to ${characteristic}`,
    ),
    ...(run ? ['  program     it talks to the device itself (run)'] : []),
    ...(needs?.bonding ? ['  bonding     required: the device answers a bonded host only'] : []),
    writes.length === 0
      ? '  writes      nothing'
      : `  writes      ${[...new Set(writes.map(({ characteristic }) => characteristic))].join(', ')}`,
  ];
}

function advertised({ serviceUuid, name, namePrefix, manufacturer }: Advertised): string {
  return [
    serviceUuid ? `service ${serviceUuid}` : '',
    name ? `name "${name}"` : '',
    namePrefix ? `name beginning with "${namePrefix}"` : '',
    manufacturer ? `manufacturer ${manufacturer.id} ${manufacturer.prefix ?? ''}`.trim() : '',
  ]
    .filter(part => part !== '')
    .join(' and ');
}

function explainStream(stream: Stream): string[] {
  const { audio, format, framing, minMtu, battery, buttons = [], time, keepAlive } = stream;
  const { start = [], stop = [] } = stream;
  const formats =
    'from' in format
      ? Object.entries(format.values).map(([id, one]) => `${id} = ${formatText(one)}`)
      : [formatText(format)];
  return [
    `  audio       notifications of ${audio.characteristic}`,
    `  format      ${'from' in format ? `by byte ${format.at ?? 0} of ${format.from.characteristic}: ` : ''}${formats.join('; ')}`,
    ...(framing ? [`  framing     ${framingText(framing)}`, ...doubtsOf(framing)] : []),
    ...(minMtu ? [`  ATT MTU     ${minMtu} or more`] : []),
    ...start.map(step => `  start       ${stepText(step)}`),
    ...stop.map(step => `  stop        ${stepText(step)}`),
    ...(keepAlive ? [`  keep-alive  every ${keepAlive.everyMs} ms: ${stepText(keepAlive.step)}`] : []),
    ...(battery ? [`  battery     byte ${battery.at ?? 0} of ${battery.characteristic}`] : []),
    ...(time
      ? [
          `  time        ${time.bytes} bytes in ${time.unit}, ${time.endian ?? 'le'}, written to ${time.characteristic}`,
        ]
      : []),
    ...buttons.map(
      ({ characteristic, map }) =>
        `  button      ${characteristic}: ${Object.entries(map)
          .map(([value, button]) => `${value} = ${button}`)
          .join(', ')}`,
    ),
  ];
}

/** Warns of bytes that are declared both as a number and as audio. */
function doubtsOf(framing: Framing): string[] {
  if (framing.kind !== 'counted') return [];
  const { header = 0, counter, fragment, fragments } = framing;
  const ends = [
    counter.at + Math.ceil(counter.bits / 8),
    ...[fragment, fragments].map(field => (field ? field.at + 1 : 0)),
  ];
  const needed = Math.max(...ends);
  return header >= needed
    ? []
    : [
        `  WARNING     header: ${header} leaves numbering bytes in the frames; with these fields it has to be ${needed} or more`,
      ];
}

function stepText(step: Step): string {
  if ('waitMs' in step) return `waits ${step.waitMs} ms`;
  return `writes ${step.hex} to ${step.write.characteristic}${step.optional ? ', where it is there' : ''}`;
}

function formatText({ codec, sampleRate, frameMs }: WireFormat): string {
  return `${codec}, ${sampleRate} Hz, frames of ${frameMs} ms`;
}

function partsText({ fragment, fragments }: CountedFraming): string {
  return [
    fragment ? `; part of its frame at byte ${fragment.at}` : '',
    fragments ? `; number of parts at byte ${fragments.at}` : '',
  ].join('');
}

function framingText(framing: Framing): string {
  const { header = 0, trailer = 0 } = framing;
  const around = `${header} bytes before, ${trailer} after`;
  switch (framing.kind) {
    case 'counted':
      return `numbered notifications (${framing.counter.bits} bits at byte ${framing.counter.at}, per ${framing.counter.per}${partsText(framing)}), ${around}`;
    case 'fixed':
      return `frames of ${framing.frameBytes} bytes, ${around}`;
    case 'length-prefixed':
      return `frames after their length (${framing.bytes === 1 ? '1 byte' : '2 bytes'}), ${around}`;
    case 'adts':
      return `AAC with ADTS headers, ${around}`;
    case 'raw':
      return `samples, in pieces of ${framing.frameBytes} bytes, ${around}`;
  }
}
