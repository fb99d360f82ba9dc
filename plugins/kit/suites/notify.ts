/** Requirements for every notification channel, as plain checks that throw. They send about 30 notifications. */
import assert from 'node:assert/strict';
import type { NotificationChannel, NotificationMessage } from '../../../core/contract/plugin.ts';
import { explainsAddress, keepsAddress, marksSecrets, parseAddress, refusesNonsense } from './address.ts';
import type { SuiteCheck } from './report.ts';

export interface ChannelSubject {
  channel: NotificationChannel;
  /** An address as a user gives it, of a real outlet that receives the notifications of the checks. */
  address: Record<string, unknown>;
  /** Returns the text of each notification that has arrived. Absent if that cannot be observed. */
  arrived?(): Promise<readonly string[]>;
  /** True: the channel announces a notification without its text. */
  wordless?: boolean;
}

export interface ChannelCheck extends SuiteCheck<ChannelSubject> {
  /** True: the check needs no outlet. */
  alone?: true;
}

export const channelChecks: readonly ChannelCheck[] = [
  {
    title: 'describes each field of an address',
    alone: true,
    run: async ({ channel }) => explainsAddress(channel),
  },
  {
    title: 'marks fields of an address that look like secrets',
    alone: true,
    run: async ({ channel }) => marksSecrets(channel),
  },
  {
    title: 'refuses a nonsensical address',
    alone: true,
    run: async ({ channel }) => refusesNonsense(channel),
  },
  {
    title: 'returns public information as text, the same each time',
    alone: true,
    run: informs,
  },
  {
    title: 'has addresses that survive JSON',
    isBasis: true,
    run: async ({ channel, address }) => keepsAddress(channel, address),
  },
  { title: 'sends a notification once', isBasis: true, run: sends },
  { title: 'accepts title, text, sender and reason', run: saysAll },
  { title: 'accepts any Unicode, line breaks in a title, and markup', run: takesOddities },
  { title: 'accepts the longest text', run: takesLong },
  { title: 'accepts each urgency, large data, and a server without a public address', run: takesVariants },
  { title: 'sends a notification again on request', run: repeats },
  { title: 'sends several at once', run: sendsSideBySide },
  { title: 'does not change the address or the notification', run: leavesAlone },
  { title: 'rejects with the reason when it is aborted, and sends nothing', run: stops },
];

const never = new AbortController().signal;
const MAX_TEXT = 4000;

const TEA: NotificationMessage = {
  id: '01930d2c-7a10-7000-8000-00000000abcd',
  title: 'Tea at four',
  text: 'The kettle is on.\nBring biscuits.',
  at: Date.UTC(2026, 10, 2, 12),
  app: 'Kitchen helper',
  event: 'app_message',
  rule: 'because tea was mentioned',
  urgency: 'normal',
  muteUrl: 'https://earshot.example/mute/abc',
  data: { conversation_id: '01930d2c-7a10-7000-8000-00000000dcba' },
};
const ODD_TITLES = [
  'Tea\r\nX-Injected: yes\r\n\r\nBody',
  'שלום 你好 🧑‍🚀 Grüße',
  '\u0000\u0007\u001b[31m\u202e\ud800',
  '',
  '=?utf-8?q?Tea?= <b>bold</b> {tea} {{tea}} %0a',
];
const ODD_TEXTS = [
  '.\r\n.\r\nQUIT\r\n',
  '**bold** [link](https://evil.example) <img src=x onerror=alert(1)> &amp;',
  '\ud800 alone \u0000 e\u0301\u0323 שלום a\u202eb \u{10ffff}',
];
async function informs({ channel }: ChannelSubject): Promise<void> {
  const first = channel.publicInfo?.() ?? {};
  for (const [name, value] of Object.entries(first))
    assert.equal(typeof value, 'string', `${name} is not a string`);
  assert.deepEqual(channel.publicInfo?.() ?? {}, first, 'it returns other information the second time');
}

async function sends(subject: ChannelSubject): Promise<void> {
  await expectArrivals(subject, 1, () => send(subject, {}));
}

async function saysAll(subject: ChannelSubject): Promise<void> {
  await send(subject, {});
  const words = await lastWords(subject);
  if (words === undefined || subject.wordless) return;
  for (const part of [TEA.title, ...TEA.text.split('\n'), TEA.app, TEA.rule])
    assert.ok(words.includes(part), `the notification does not contain "${part}"`);
}

async function takesOddities(subject: ChannelSubject): Promise<void> {
  for (const title of ODD_TITLES) await expectArrivals(subject, 1, () => send(subject, { title }));
  for (const text of ODD_TEXTS) await expectArrivals(subject, 1, () => send(subject, { text }));
  await expectArrivals(subject, 1, () => send(subject, { app: 'A\r\nB: c', rule: 'because\r\nD: e' }));
}

async function takesLong(subject: ChannelSubject): Promise<void> {
  for (const character of ['🚀', '"', '\n', 'a'])
    await expectArrivals(subject, 1, () => send(subject, { text: `Tea ${character.repeat(MAX_TEXT - 5)}.` }));
  const title = '🚀'.repeat(MAX_TEXT);
  await expectArrivals(subject, 1, () => send(subject, { title, text: title, app: title, rule: title }));
}

async function takesVariants(subject: ChannelSubject): Promise<void> {
  for (const urgency of ['low', 'normal', 'high'] as const)
    await expectArrivals(subject, 1, () => send(subject, { urgency, muteUrl: null }));
  const data = { ids: Array.from({ length: 300 }, () => TEA.id) };
  await expectArrivals(subject, 1, () => send(subject, { data }));
}

async function repeats(subject: ChannelSubject): Promise<void> {
  await send(subject, {});
  await send(subject, {});
}

async function sendsSideBySide(subject: ChannelSubject): Promise<void> {
  await expectArrivals(subject, 3, async () => {
    await Promise.all(
      ['one', 'two', 'three'].map(id => send(subject, { id: `${TEA.id.slice(0, -5)}${id}` })),
    );
  });
}

async function leavesAlone(subject: ChannelSubject): Promise<void> {
  const address = freeze(parseAddress(subject.channel, subject.address));
  await subject.channel.send(address, freeze(structuredClone(TEA)), never);
}

async function stops(subject: ChannelSubject): Promise<void> {
  const reason = new Error('nobody wants it any more');
  const isReason = (thrown: unknown) => thrown === reason;
  await expectArrivals(subject, 0, async () => {
    await assert.rejects(async () => send(subject, {}, AbortSignal.abort(reason)), isReason);
  });
  const leaving = new AbortController();
  const sending = send(subject, {}, leaving.signal);
  leaving.abort(reason);
  await sending.catch(thrown => assert.ok(isReason(thrown), `it rejected with ${thrown}`));
}

async function send(
  { channel, address }: ChannelSubject,
  other: Partial<NotificationMessage>,
  signal = never,
): Promise<void> {
  await channel.send(parseAddress(channel, address), { ...TEA, ...other }, signal);
}

async function expectArrivals(
  { arrived }: ChannelSubject,
  count: number,
  work: () => Promise<void>,
): Promise<void> {
  const before = await arrived?.();
  await work();
  const after = await arrived?.();
  if (before && after) assert.equal(after.length - before.length, count, 'notifications that arrived');
}

async function lastWords({ arrived }: ChannelSubject): Promise<string | undefined> {
  return (await arrived?.())?.at(-1);
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) freeze(part);
  return Object.freeze(value);
}
