import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { ForeignItem, type ForeignThing } from '../../../../core/domain/foreign/foreign-item.ts';
import { readFiles } from '../../../../core/domain/foreign/read-files.ts';
import { AppError } from '../../../../core/runtime/errors.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { EXPORTS, writeExport } from '../../../helpers/foreign-exports.ts';
import { mutator } from '../../../helpers/mutations.ts';

const BEGAN = Date.parse('2025-03-02T09:00:00Z');
const VARIANTS = 20;

async function read(path: string): Promise<ForeignThing[]> {
  const things: ForeignThing[] = [];
  for await (const line of readFiles({ path, timeZone: 'UTC' }))
    if (!('formats' in line)) things.push(ForeignItem.parse(line));
  return things;
}

/** Summarises each item on one line. */
function told(things: readonly ForeignThing[]): string[] {
  return things.map(thing => {
    if (thing.kind === 'left_out') return `left out: ${thing.what}`;
    if (thing.kind === 'memory') return `memory: ${thing.content}`;
    if (thing.kind === 'task') return `task: ${thing.description}${thing.completed ? ', done' : ''}`;
    if (thing.kind === 'recording')
      return `recording: ${thing.name} from ${new Date(thing.startedAt ?? thing.endedAt).toISOString()}`;
    const { title, overview, startedAt, segments, tasks } = thing;
    const said = segments.map(
      ({ text, start, end, speaker, isUser }) => `${start}-${end} ${isUser ? 'owner' : speaker}: ${text}`,
    );
    return [
      `conversation at ${(startedAt - BEGAN) / 1000}: ${title}`,
      overview,
      ...said,
      ...tasks.map(task => `to do: ${task.description}`),
    ]
      .filter(line => line !== '')
      .join(' | ');
  });
}

const EXPECTED: Record<keyof typeof EXPORTS, string[]> = {
  omi: [
    'left out: chat message',
    'conversation at 0: Planning the garden | They plan what to plant. | 0-2.5 owner: Shall we plant beans? | 3-4 SPEAKER_01: And peas. | to do: Buy seeds',
    'left out: conversation',
    'memory: Likes beans',
  ],
  limitless: [
    'conversation at 0: Garden | Beans and peas | 0-2.5 owner: Shall we plant beans? | 3-4 Ada: And peas.',
  ],
  bee: [
    'conversation at 0: Conversation 4711 | They plan what to plant. | 0-150 Ada: Shall we plant beans? | 150-300 Unknown: And peas.',
    'left out: daily note',
    'memory: Likes beans (1)',
    'memory: Has a garden (2)',
    'task: Buy seeds',
    'task: Dig, done',
  ],
  plaud: [
    'left out: recording',
    'conversation at 0: 2025-03-02 09_00_00 | 0-2.5 Speaker 1: Shall we plant beans? | 3-4 Speaker 2: And peas.',
  ],
  'plaud text': [
    'conversation at 0: 2025-03-02 09_00_00 | 0-3 Speaker 1: Shall we plant beans? | 3-8 Speaker 2: And peas.',
  ],
  otter: [
    'conversation at 0: Garden plans | 0-3 Ada Byron: Shall we plant beans? | 3-8 Speaker 2: And peas.',
  ],
  'fireflies text': [
    'conversation at 0: Garden-plans | 0-3 Ada Byron: Shall we plant beans? | 3-8 Grace Hopper: And peas.',
  ],
  fireflies: [
    'conversation at 0: Garden plans | 0-2 Ada Byron: Shall we plant beans? | 3-4 Grace Hopper: And peas.',
  ],
  'fireflies interface': [
    'conversation at 0: Garden plans | They plan what to plant. | 0-2.5 Ada Byron: Shall we plant beans? | 3-4 Grace Hopper: And peas.',
  ],
  granola: [
    'conversation at 0: Garden plans | Beans, peas | 0-2.5 owner: Shall we plant beans? | 3-4 Speaker 2: And peas.',
    'left out: note',
  ],
  markdown: [
    'conversation at 0: Garden plans | 0-0 owner: Shall we plant beans? | 0.001-0.001 owner: And peas.',
  ],
  vtt: [
    'conversation at 0: 20250302_090000 garden | 0-2.5 Ada Byron: Shall we plant beans? | 3-4 Grace Hopper: And peas & corn.',
  ],
  'whatsapp on iPhone': [
    'left out: message without words',
    'left out: message without words',
    'left out: message without words',
    'conversation at 0: WhatsApp Chat - Garden, 2025-03-02 | 0-0 Ada Byron: Shall we plant beans? Or corn: tall? | 4-4 Grace Hopper: And peas.',
    'conversation at 950400: WhatsApp Chat - Garden, 2025-03-13 | 0-0 Ada Byron: Dug.',
  ],
  'whatsapp on Android': [
    'left out: message without words',
    'left out: message without words',
    'left out: message without words',
    'conversation at 0: WhatsApp Chat with Ada, 2025-03-02 | 0-0 Ada Byron: Shall we plant beans? | 120-120 Grace: The beans | 14400-14400 Ada Byron: 10:30 - see you',
    'conversation at 54300: WhatsApp Chat with Ada, 2025-03-03 | 0-0 Grace: Late.',
  ],
  ics: ['task: Buy seeds, and soil', 'task: Dig, done', 'left out: event'],
};

for (const name of Object.keys(EXPORTS) as (keyof typeof EXPORTS)[]) {
  test(`${name}: its export is read completely`, async t => {
    const folder = await writeExport(await temporaryDirectory(t), EXPORTS[name]);
    t.deepEqual(told(await read(folder)), EXPECTED[name]);
  });

  test(`${name}: ${VARIANTS} damaged exports are rejected by name, or read as far as they are intact`, async t => {
    for (const [broken, whole] of Object.entries(EXPORTS[name])) {
      const mutations = mutator([Buffer.from(whole)], 20);
      let refused = 0;
      for (let variant = 0; variant < VARIANTS; variant++) {
        const folder = await mkdtemp(join(tmpdir(), 'earshot-foreign-'));
        const { mutation, message } = mutations.next();
        const files = { ...EXPORTS[name], [broken]: message };
        try {
          await read(await writeExport(folder, files));
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          refused += 1;
          t.is(error.code, 'invalid_request', `${mutation}: ${error.message}`);
          t.true(error.message.includes(broken), `${mutation}: ${error.message}`);
        } finally {
          await rm(folder, { recursive: true });
        }
      }
      if (!broken.endsWith('.mp3')) t.true(refused > 0, `${broken}: nothing was refused`);
    }
  });
}

test('A due date is in the time zone of its task', async t => {
  const folder = await writeExport(await temporaryDirectory(t), EXPORTS.ics);
  const [task] = await read(folder);
  t.is(task?.kind === 'task' && task.dueAt, Date.parse('2025-03-03T08:00:00Z'));
});

test('Unknown files are rejected by name, and nothing beside them is imported', async t => {
  const folder = await writeExport(await temporaryDirectory(t), {
    ...EXPORTS.otter,
    'sub/letter.docx': 'PK',
    'plain.txt': 'A letter without any times.\n',
    '.DS_Store': 'x',
  });
  const error = await t.throwsAsync<AppError>(read(folder));
  t.is(error?.code, 'invalid_request');
  t.regex(error?.message ?? '', /plain\.txt, sub\/letter\.docx: unknown format/);
  t.regex(
    (await t.throwsAsync<AppError>(read(join(folder, 'nowhere'))))?.message ?? '',
    /nowhere does not exist/,
  );
});

test('Voice notes beside a chat of WhatsApp have its times, and dates are read as the chat has them', async t => {
  const chats: [line: string, at: string][] = [
    ['02/03/2025, 21:15 - Ada: PTT-20250302-WA0007.opus (archivo adjunto)', '2025-03-02T21:15:00.000Z'],
    ['2025-03-02, 9:15 p.m. - Ada: PTT-20250302-WA0007.opus (file attached)', '2025-03-02T21:15:00.000Z'],
    ['[02/03/25 21:15:09] Ada: \u200e<adjunto: PTT-20250302-WA0007.opus>', '2025-03-02T21:15:09.000Z'],
    ['2.3.25, 21.15 - Ada: \u200ePTT-20250302-WA0007.opus (Datei angehängt)', '2025-03-02T21:15:00.000Z'],
    [
      '3/2/25, 9:15 PM - Ada: PTT-20250302-WA0007.opus (file attached)\n3/14/25, 9:15 PM - Ada: Hi',
      '2025-03-02T21:15:00.000Z',
    ],
  ];
  for (const [line, at] of chats) {
    const folder = await writeExport(await temporaryDirectory(t), {
      'chat.txt': `${line}\n`,
      'PTT-20250302-WA0007.opus': 'a',
    });
    const [note] = (await read(folder)).filter(({ kind }) => kind === 'recording');
    t.deepEqual(note ? told([note]) : [], [`recording: PTT-20250302-WA0007.opus from ${at}`], line);
  }
  const folder = await writeExport(await temporaryDirectory(t), {
    'chat.txt': '45.45.45, 09:00 - Ada: Hi\n',
  });
  t.regex(
    (await t.throwsAsync<AppError>(read(folder)))?.message ?? '',
    /chat\.txt, line 1: 45\.45\.45 is no date/,
  );
});

test('WhatsApp voice notes and other recordings have the time of the file, or of the name if the file was copied', async t => {
  const folder = await writeExport(await temporaryDirectory(t), {
    'WhatsApp Voice Notes/202509/PTT-20250302-WA0001.opus': 'a',
    'WhatsApp Voice Notes/202509/PTT-20250102-WA0007.opus': 'b',
    'memo.m4a': 'c',
  });
  t.deepEqual(told(await read(folder)), [
    'recording: PTT-20250102-WA0007.opus from 2025-01-02T12:00:07.000Z',
    'recording: PTT-20250302-WA0001.opus from 2025-03-02T09:00:00.000Z',
    'recording: memo.m4a from 2025-03-02T09:00:00.000Z',
  ]);
  await writeExport(folder, { 'none.mp3': '' });
  t.regex((await t.throwsAsync<AppError>(read(folder)))?.message ?? '', /none\.mp3 is empty/);
});
