import { stringify } from 'yaml';
import type { Offer } from '../link.ts';

/** Standard services, which say nothing of audio. */
const STANDARD = new Set(['1800', '1801', '180a', '180f', '1805', 'fe59']);

/** Returns the non-standard characteristics that notify, from which audio may come. */
export function audioCandidates(offers: readonly Offer[]): Offer[] {
  return offers.filter(
    ({ service, properties }) =>
      !STANDARD.has(service) && properties.some(property => property === 'notify' || property === 'indicate'),
  );
}

/** Drafts a description of an unknown board; it is valid, and meant to be corrected. */
export function boardTemplate(name: string, offers: readonly Offer[]): string {
  const [audio, ...others] = audioCandidates(offers);
  if (!audio)
    throw new Error(`${name} has only standard characteristics that notify: none of them can carry audio`);
  const place = { service: dashed(audio.service), characteristic: dashed(audio.characteristic) };
  const hasBattery = offers.some(
    ({ service, characteristic }) => service === '180f' && characteristic === '2a19',
  );
  const description = {
    api: 1,
    name: slug(name),
    title: name,
    match: { advertised: [{ name }], confirm: [{ ...place, properties: ['notify'] }] },
    stream: {
      audio: place,
      format: { codec: 'pcm16', sampleRate: 16000, frameMs: 10 },
      framing: { kind: 'raw', frameBytes: 320 },
      ...(hasBattery ? { battery: { service: '180f', characteristic: '2a19' } } : {}),
    },
  };
  const all = offers.map(
    ({ service, characteristic, properties }) =>
      `#   ${dashed(service)} ${dashed(characteristic)}  ${properties.join(', ')}`,
  );
  return [
    `# ${name}, as it describes itself. Correct format and framing, then:`,
    '#   earshot device check THIS-FILE',
    '# and name the file in bridge.drivers. Every field is in bridge/README.md.',
    ...(others.length === 0 ? [] : ['# Audio may come from another characteristic that notifies.']),
    '# What it offers, service and characteristic:',
    ...all,
    stringify(description),
  ].join('\n');
}

function slug(name: string): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? ['board'];
  return words.join('-').slice(0, 60);
}

/** Formats UUIDs of 128 bits as documents write them. */
function dashed(uuid: string): string {
  if (uuid.length !== 32) return uuid;
  return [uuid.slice(0, 8), uuid.slice(8, 12), uuid.slice(12, 16), uuid.slice(16, 20), uuid.slice(20)].join(
    '-',
  );
}
