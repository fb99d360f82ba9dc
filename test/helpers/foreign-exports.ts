import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Files that one product writes: path to text. */
export type ForeignExport = Readonly<Record<string, string>>;

const omiConversation = {
  id: 'c0ffee00-0000-4000-8000-000000000001',
  created_at: '2025-03-02T09:10:00.123456+00:00',
  started_at: '2025-03-02T09:00:00+00:00',
  finished_at: '2025-03-02T09:05:00+00:00',
  source: 'friend',
  language: 'en',
  structured: {
    title: 'Planning the garden',
    overview: 'They plan what to plant.',
    emoji: '🌱',
    category: 'environment',
    action_items: [{ description: 'Buy seeds', completed: false }],
    events: [],
  },
  transcript_segments: [
    {
      text: 'Shall we plant beans?',
      speaker: 'SPEAKER_00',
      speaker_id: 0,
      is_user: true,
      start: 0,
      end: 2.5,
    },
    { text: 'And peas.', speaker: 'SPEAKER_01', speaker_id: 1, is_user: false, start: 3, end: 4 },
  ],
  discarded: false,
};

/** Written after each product's public format: see `docs/import.md`. */
export const EXPORTS = {
  omi: {
    'omi_export_2025-03-03/conversations.json': JSON.stringify([
      omiConversation,
      { ...omiConversation, id: 'gone', deleted: true },
    ]),
    'omi_export_2025-03-03/memories.json': JSON.stringify([
      { id: 'm1', content: 'Likes beans', category: 'interesting', created_at: '2025-03-02T09:06:00Z' },
    ]),
    'omi_export_2025-03-03/chat_history.json': JSON.stringify([{ id: 'x', text: 'Hello', sender: 'human' }]),
  },
  limitless: {
    'lifelogs/2025/03/2025-03-02_09h00m00s_Garden.md':
      '# Garden\n\n## Beans and peas\n\n' +
      '> [1](#startMs=1740906000000&endMs=1740906002500): Shall we plant beans?\n\n' +
      '> [Ada](#startMs=1740906003000&endMs=1740906004000): And peas.\n',
  },
  bee: {
    'facts.md': '# Facts\n\n- Likes beans (1)\n- Has a garden (2)\n',
    'todos.md': '# Todos\n\n- [ ] Buy seeds\n- [x] Dig\n',
    'daily/2025-03-02.md': '# 2025-03-02\n\nA day in the garden.\n',
    'conversations/2025/03/4711.md':
      '# Conversation 4711\n\n- start_time: 2025-03-02T09:00:00Z\n- end_time: 2025-03-02T09:05:00Z\n\n' +
      '## Short Summary\n\nGarden plans\n\n## Summary\n\nThey plan what to plant.\n\n' +
      '## Primary Location\n\n- address: Garden Lane 1\n\n' +
      '## Transcriptions\n\n- Ada: Shall we plant beans?\n- Unknown: And peas.\n',
  },
  plaud: {
    'plaud/2025-03-02 09_00_00.srt':
      '1\n00:00:00,000 --> 00:00:02,500\nSpeaker 1: Shall we plant beans?\n\n' +
      '2\n00:00:03,000 --> 00:00:04,000\nSpeaker 2: And peas.\n',
    'plaud/2025-03-02 09_00_00.mp3': 'ID3 not read',
  },
  'plaud text': {
    '2025-03-02 09_00_00.txt': '00:00:00 Speaker 1\nShall we plant beans?\n\n00:00:03 Speaker 2\nAnd peas.\n',
  },
  otter: {
    'Garden plans.txt':
      'Ada Byron  0:00  \nShall we plant beans?\n\nSpeaker 2  0:03  \nAnd peas.\n\nTranscribed by https://otter.ai\n',
  },
  'fireflies text': {
    'Garden-plans.txt': 'Ada Byron - 00:00\nShall we plant beans?\n\nGrace Hopper - 00:03\nAnd peas.\n',
  },
  fireflies: {
    'Garden plans.json': JSON.stringify([
      {
        sentence: 'Shall we plant beans?',
        startTime: '00:00',
        endTime: '00:02',
        speaker_name: 'Ada Byron',
        speaker_id: 0,
      },
      {
        sentence: 'And peas.',
        startTime: '00:03',
        endTime: '00:04',
        speaker_name: 'Grace Hopper',
        speaker_id: 1,
      },
    ]),
  },
  'fireflies interface': {
    'transcript.json': JSON.stringify({
      data: {
        transcript: {
          id: 'ff1',
          title: 'Garden plans',
          date: 1740906000000,
          sentences: [
            {
              index: 0,
              text: 'Shall we plant beans?',
              start_time: 0,
              end_time: 2.5,
              speaker_name: 'Ada Byron',
            },
            { index: 1, text: 'And peas.', start_time: 3, end_time: 4, speaker_name: 'Grace Hopper' },
          ],
          summary: { overview: 'They plan what to plant.', action_items: '' },
        },
      },
    }),
  },
  granola: {
    'cache-v3.json': JSON.stringify({
      cache: JSON.stringify({
        state: {
          documents: {
            d1: {
              title: 'Garden plans',
              created_at: '2025-03-02T09:00:00Z',
              notes_plain: 'Beans, peas',
              deleted_at: null,
            },
            d2: { title: 'Old', created_at: '2025-03-01T09:00:00Z', deleted_at: '2025-03-01T10:00:00Z' },
          },
          transcripts: {
            d1: [
              {
                text: 'Shall we plant beans?',
                source: 'microphone',
                start_timestamp: '2025-03-02T09:00:00Z',
                end_timestamp: '2025-03-02T09:00:02.500Z',
              },
              {
                text: 'And peas.',
                source: 'system',
                start_timestamp: '2025-03-02T09:00:03Z',
                end_timestamp: '2025-03-02T09:00:04Z',
              },
            ],
          },
        },
      }),
    }),
  },
  markdown: {
    'Garden plans.md':
      '---\ntitle: Garden plans\ncreated: 2025-03-02T09:00:00Z\ntags: [garden]\n---\n\n# Garden plans\n\nShall we plant beans?\n\nAnd peas.\n',
  },
  vtt: {
    '20250302_090000 garden.vtt':
      'WEBVTT\n\nNOTE made by hand\n\n1\n00:00.000 --> 00:02.500 align:start\n<v Ada Byron>Shall we <i>plant</i> beans?</v>\n\n' +
      '00:03.000 --> 00:04.000\n<v.loud Grace Hopper>And peas &amp; corn.</v>\n',
  },
  'whatsapp on iPhone': {
    'WhatsApp Chat - Garden/_chat.txt':
      '[02.03.25, 09:00:00] Garden: \u200eMessages and calls are end-to-end encrypted.\r\n' +
      '[02.03.25, 09:00:00] Ada Byron: Shall we plant beans?\r\nOr corn: tall?\r\n' +
      '\u200e[02.03.25, 09:00:03] \u202aGrace Hopper\u202c: \u200e<attached: 00000003-AUDIO-2025-03-02-09-00-03.opus>\r\n' +
      '[02.03.25, 09:00:04] Grace Hopper: And peas. \u200e<This message was edited>\r\n' +
      '[02.03.25, 09:00:05] Ada Byron: \u200eimage omitted\r\n' +
      '[13.03.25, 09:00:00] Ada Byron: Dug.\r\n',
  },
  'whatsapp on Android': {
    'WhatsApp Chat with Ada.txt':
      '3/2/25, 9:00\u202fAM - Messages and calls are end-to-end encrypted. No one outside can read them.\n' +
      '3/2/25, 9:00\u202fAM - Ada Byron: Shall we plant beans?\n' +
      '3/2/25, 9:01\u202fAM - Grace: PTT-20250302-WA0007.opus (file attached)\n' +
      '3/2/25, 9:02\u202fAM - Grace: IMG-20250302-WA0008.jpg (Datei angehängt)\nThe beans\n' +
      '3/2/25, 9:03\u202fAM - Grace: <Media omitted>\n' +
      '3/2/25, 1:00\u202fPM - Ada Byron: 10:30 - see you\n' +
      '3/3/25, 12:05\u202fAM - Grace: Late.\n',
  },
  ics: {
    'tasks.ics':
      'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n' +
      'BEGIN:VTODO\r\nUID:t1\r\nSUMMARY:Buy seeds\\, and\r\n  soil\r\nDUE;TZID=Europe/Berlin:20250303T090000\r\nEND:VTODO\r\n' +
      'BEGIN:VTODO\r\nUID:t2\r\nSUMMARY:Dig\r\nSTATUS:COMPLETED\r\nEND:VTODO\r\n' +
      'BEGIN:VEVENT\r\nUID:e1\r\nSUMMARY:Market\r\nDTSTART:20250302T090000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n',
  },
} as const satisfies Record<string, ForeignExport>;

const MODIFIED = new Date('2025-03-02T09:00:00Z');

/** Writes an export below the folder, with file times in the past. */
export async function writeExport(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<string> {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    await utimes(file, MODIFIED, MODIFIED);
  }
  return folder;
}
