import { basename } from 'node:path';
import { styleText } from 'node:util';
import { z } from 'zod';
import { RECOGNITION, type Status } from '../../control/commands.ts';
import { WireSegment } from '../../listen/protocol.ts';
import { onOneLine } from '../../runtime/terminal.ts';
import { clockTime, createTranscript } from '../stream/transcript.ts';

/** Output of the demo: text for people, or one JSON object per line. */
export interface Story {
  listening(status: Status): void;
  /** One of the bridge's own events. */
  bridge(event: unknown): void;
  conversation(found: Found): void;
  /** The server keeps running until Ctrl-C. */
  waiting(): void;
}

interface Found {
  url: string;
  /** An API key for trying the interface. */
  key: string;
  /** Conversation as returned by `GET …?include_transcript=true`. */
  conversation: unknown;
}

export function createStory({ json, audio }: { json: boolean; audio: string }): Story {
  return json ? jsonStory() : spokenStory(audio);
}

function jsonStory(): Story {
  const tell = (event: unknown) => write(JSON.stringify(event));
  return {
    listening: status => tell({ event: 'listening', url: status.url, ready: status.ready }),
    bridge: tell,
    conversation: ({ conversation }) => tell({ event: 'conversation', conversation }),
    waiting() {},
  };
}

/** Events of the bridge that the demo shows. */
const BridgeEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('radio'), state: z.string(), hint: z.string() }),
  z.object({
    event: z.literal('device'),
    name: z.string(),
    state: z.string(),
    codec: z.string().nullable(),
    battery: z.number().nullable(),
    reason: z.string().nullable(),
  }),
  z.object({ event: z.literal('disconnected'), code: z.number(), reason: z.string() }),
  z.object({ event: z.literal('segments'), segments: z.array(WireSegment) }),
  z.object({ event: z.literal('service_status'), status: z.string(), reason: z.string().optional() }),
  z.object({ event: z.literal('memory_processing_started') }),
]);
type BridgeEvent = z.infer<typeof BridgeEvent>;

function spokenStory(audio: string): Story {
  const transcript = createTranscript(line => write(`    ${line}`));
  return {
    listening({ url, ready }) {
      const recogniser = ready.find(({ part, ok }) => part === RECOGNITION && ok);
      write(bold('Earshot, from a wearable to a finished conversation.'));
      write('It runs a server, a bridge and a simulated pendant of its own, and keeps nothing.\n');
      step(`The server listens on ${url}; ${recogniser?.name ?? 'a recogniser'} recognises the speech.`);
    },
    bridge(event) {
      const { data } = BridgeEvent.safeParse(onOneLine(event));
      if (!data) return; // not shown
      if (data.event === 'segments') return transcript(data.segments);
      const said = sentence(data, audio);
      if (said) step(said);
    },
    conversation: found => tellConversation(found),
    waiting() {
      write(dim('\nThe server keeps running; Ctrl-C ends it and removes its data.'));
    },
  };
}

/** Returns the text of an event; null: it is not shown. */
function sentence(event: Exclude<BridgeEvent, { event: 'segments' }>, audio: string): string | null {
  switch (event.event) {
    case 'radio':
      return event.state === 'ready' ? 'The bridge looks for wearables.' : null;
    case 'device':
      return deviceSentence(event, audio);
    case 'disconnected':
      return event.code === 1000 ? null : `The bridge lost the server: ${event.reason}.`;
    case 'service_status':
      return event.status === 'stt_failed' ? `The recogniser failed: ${event.reason ?? 'no reason'}.` : null;
    case 'memory_processing_started':
      return 'Silence: the conversation has ended.';
  }
}

function deviceSentence(
  { name, state, battery, codec, reason }: Extract<BridgeEvent, { event: 'device' }>,
  audio: string,
): string {
  if (state !== 'streaming') return `The wearable "${name}" is ${state}${reason ? `: ${reason}` : ''}.`;
  const charge = battery === null ? '' : ` (battery ${battery} %)`;
  return `The wearable "${name}"${charge} plays ${basename(audio)} over Bluetooth${codec ? `, as ${codec}` : ''}:`;
}

const Conversation = z.object({
  id: z.string(),
  structured: z.object({
    title: z.string(),
    overview: z.string(),
    emoji: z.string(),
    category: z.string(),
    action_items: z.array(z.object({ description: z.string() })),
  }),
  transcript_segments: z.array(
    z.object({ text: z.string(), start: z.number(), speaker_name: z.string().nullish() }),
  ),
});

function tellConversation({ url, key, conversation }: Found): void {
  const { id, structured, transcript_segments: segments } = Conversation.parse(onOneLine(conversation));
  const { emoji, title, overview, category, action_items: tasks } = structured;
  write(`\n${bold(`${emoji} ${title}`)}  ${dim(category)}`);
  if (overview) write(`\n${overview}`);
  write('');
  for (const { text, start, speaker_name: speaker } of segments) {
    write(`    ${clockTime(start)}  ${speaker ?? 'somebody'}: ${text}`);
  }
  if (tasks.length > 0) write(`\nTo do:\n${tasks.map(({ description }) => `  - ${description}`).join('\n')}`);
  const get = `curl -H "Authorization: Bearer $KEY" '${url}/v1/dev/user/conversations`;
  write(`\n${bold('Look around')} at ${url} with this API key:\n`);
  write(`  KEY=${key}`);
  write(`  ${get}'`);
  write(`  ${get}/${id}?include_transcript=true'`);
}

function step(text: string): void {
  write(`${styleText('green', '●')} ${text}`);
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}

function bold(text: string): string {
  return styleText('bold', text);
}

function dim(text: string): string {
  return styleText('dim', text);
}
