import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Browser, Locator, Page, WebSocketRoute } from 'playwright-core';
import { buildDashboard } from '../../../config/setup/dashboard.mjs';
import { accountOf } from '../../helpers/accounts.ts';
import {
  DESK,
  findChromium,
  HOW,
  inaccessible,
  launch,
  openPage,
  PASSWORD,
  PHONE,
  settled,
  signIn,
} from '../../helpers/browser.ts';
import { openCaldavServer } from '../../helpers/caldav-server.ts';
import { eventually } from '../../helpers/eventually.ts';
import { fillHome } from '../../helpers/home.ts';
import { connectListen } from '../../helpers/listen-client.ts';
import { startPushService } from '../../helpers/push-service.ts';
import { buildServer, countingStt, type TestServer } from '../../helpers/services.ts';
import { reportSkipped } from '../../helpers/skips.ts';
import { modelServer, smallModel } from '../../helpers/system.ts';
import { isThorough } from '../../helpers/thorough.ts';

const ROOT = join(import.meta.dirname, '../../..');
const RECORDING = join(ROOT, 'bridge/simulator/recording.wav');
const PATHS = [
  ...['/', '/conversations', '/tasks', '/memories', '/ask', '/more', '/connections', '/notifications'],
  ...['/people', '/places', '/goals', '/statistics'],
  ...['/settings', '/system', '/conversations/unknown'],
];
/** Pages checked for accessibility on a phone too; the others have the same components. */
const ON_PHONE = ['/', '/more'];
/** More than any page has places for the focus. */
const MAX_PRESSES = 150;
/** Generous, as a browser beside other work is slow. */
const ROUTES_MS = 240_000;

const testInBrowser = findChromium() === null ? test.skip : test.serial;
let browser: Browser;
let server: TestServer;
let modelFiles: Awaited<ReturnType<typeof modelServer>>;

test('there is a Chromium, or this is not CI and the tests in a browser are skipped', t => {
  if (findChromium() !== null) return t.pass();
  reportSkipped(t, 'browser', 'all tests in a browser', HOW);
});

if (findChromium() !== null) {
  test.before(async () => {
    buildDashboard(ROOT, { say() {} });
    modelFiles = await modelServer();
    const { stt, plugins } = countingStt();
    const models = { small: smallModel(modelFiles.url) };
    [browser, server] = await Promise.all([
      launch(),
      buildServer(
        { stt: [...stt, 'sherpa-onnx'], plugins, delivery: { allowHosts: ['127.0.0.1'] } },
        { catalogue: async () => ({ defaults: { 'sherpa-onnx': 'small' }, models }) },
      ),
    ]);
  });
  test.after.always(async () => {
    await browser?.close();
    await server?.stop();
    modelFiles?.close();
  });
}

/** A page that is closed at the end of its test, which fails if the page had an error. */
async function open(t: ExecutionContext, viewport: { width: number; height: number }) {
  t.timeout(600_000);
  const { page, complaints } = await openPage(browser, viewport);
  page.setDefaultTimeout(ROUTES_MS);
  return {
    page,
    complaints,
    async finish() {
      t.deepEqual(complaints, []);
      await page.context().close();
    },
  };
}

testInBrowser('the first-start link leads to a password, and from there to live words', async t => {
  const { page, finish } = await open(t, PHONE);
  let clicks = 0;
  const click = async (target: Locator) => {
    clicks += 1;
    await target.click();
  };
  const begun = performance.now();
  await page.goto((await server.app.welcomeUrl()) ?? '');
  await page.getByLabel('Password').fill(PASSWORD);
  t.deepEqual(await inaccessible(page), []);
  await click(page.getByRole('button', { name: 'Begin' }));
  await page.getByText('No wearable is connected').waitFor();
  t.is(new URL(page.url()).pathname, '/');

  const steps = page.locator('.first-steps');
  await steps.getByText('ready', { exact: true }).waitFor();
  await click(steps.getByRole('button', { name: /^Download the model/ }));
  await steps.locator('progress').waitFor();
  t.deepEqual(await inaccessible(page), []);
  modelFiles.goOn();
  await steps.locator('progress').waitFor({ state: 'detached' });
  await click(steps.getByRole('button', { name: 'Play the simulated pendant' }));
  await page
    .locator('.words p', { hasText: /\d+ tenths/ })
    .first()
    .waitFor();
  const tookMs = performance.now() - begun;
  t.log(`from the link to the first words: ${clicks} clicks, ${Math.round(tookMs)} ms`);
  t.true((await page.locator('.live-card .status.on').count()) === 1);
  t.is(await page.locator('.chip.live').count(), 1);
  await page.getByRole('button', { name: 'End conversation now' }).first().click();
  await page.getByRole('link', { name: 'Open the conversation' }).first().waitFor();
  await steps.waitFor({ state: 'detached' }); // there is a conversation
  await page.reload();
  await page.locator('nav.side').waitFor(); // the cookie signs in again

  await page.goto(`${server.url}/system`);
  await page.getByRole('button', { name: 'Back up now' }).click();
  await page.getByText('The latest backup is from').waitFor();
  await page.locator('summary', { hasText: 'Options: counting' }).click();
  t.is(await page.getByLabel('behaviour', { exact: true }).inputValue(), 'well');
  await page.locator('.log li', { hasText: 'first account made' }).waitFor();
  t.is(await page.locator('table', { hasText: 'Account' }).getByText('owner').count(), 1);
  t.deepEqual(await inaccessible(page), []);
  await finish();
});

const hasFocus = async (page: Page, target: Locator) =>
  (await target.and(page.locator(':focus')).count()) === 1;

/** Presses Tab until the element has the focus, which must be visible. */
async function tabTo(page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await target.waitFor();
  for (let presses = 0; !(await hasFocus(page, target)); presses += 1) {
    if (presses === MAX_PRESSES) throw new Error(`${target} was not reached in ${presses} presses of ${key}`);
    await page.keyboard.press(key);
  }
  const isVisible = await page.evaluate(`(() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect();
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && bottom > 0 && top < innerHeight;
  })()`);
  if (!isVisible) throw new Error(`the focus on ${target} cannot be seen`);
}

testInBrowser('everything is done with the keyboard alone, and the focus is always visible', async t => {
  await server.app.commands['user.password']({ user: 'owner', password: PASSWORD });
  const { post, get } = await accountOf(server, 'owner');
  const lines = Array.from({ length: 30 }, (_, index) => `The kiln is lit, number ${index}.`);
  const transcript_segments = lines.map((text, index) => ({ text, start: index * 5, end: index * 5 + 4 }));
  const { id } = await post('/v1/dev/user/conversations/from-segments', { transcript_segments });
  await eventually(async () => (await get(`/v1/dev/user/conversations/${id}`)).status === 'completed');
  for (const description of ['Fire the kiln', 'Sweep the kiln'])
    await post('/v1/dev/user/action-items', { description });
  const { page, finish } = await open(t, DESK);
  const { keyboard } = page;
  const press = async (target: Locator, key = 'Enter') => {
    await tabTo(page, target);
    await keyboard.press(key);
  };

  await page.goto(`${server.url}/`);
  await tabTo(page, page.getByLabel('Name'));
  await keyboard.type('owner');
  await tabTo(page, page.getByLabel('Password'));
  await keyboard.type(PASSWORD);
  await keyboard.press('Enter');
  const side = page.locator('nav.side');
  await press(side.getByRole('link', { name: 'Conversations' }));
  await press(page.locator(`.virtual a.row[href="/conversations/${id}"]`));
  await page.locator('.segment').first().waitFor();
  await keyboard.press('PageDown');
  await eventually(
    async () => Number(await page.evaluate("document.getElementById('main').scrollTop")) > 100,
  );
  await keyboard.press('Home');

  const dialog = page.locator('dialog');
  const edit = page.getByRole('button', { name: 'Edit text: 0:05' });
  await press(edit);
  await tabTo(page, dialog.getByLabel('Text'));
  await keyboard.press('Control+A');
  await keyboard.type('The kiln is cold.');
  await press(dialog.getByRole('button', { name: 'Save' }));
  await page.locator('.segment p', { hasText: 'The kiln is cold.' }).waitFor();
  t.true(await hasFocus(page, edit), 'the focus is back');

  await press(page.locator('.segment').nth(2).locator('.speaker'));
  await tabTo(page, dialog.getByLabel('Somebody new'));
  await keyboard.type('Potter');
  await keyboard.press('Enter');
  await page.locator('.segment .speaker', { hasText: 'Potter' }).first().waitFor();

  const tasks = side.getByRole('link', { name: 'Tasks' });
  await tabTo(page, tasks, 'Shift+Tab');
  await keyboard.press('Enter');
  await press(page.getByLabel('Mark as done: Fire the kiln'), 'Space');
  await page.locator('.task', { hasText: 'Fire the kiln' }).waitFor({ state: 'detached' });
  await press(page.getByRole('button', { name: 'Edit: Sweep the kiln' }));
  await press(dialog.getByRole('button', { name: 'Delete' }));
  const undo = page.getByRole('button', { name: 'Undo' });
  await undo.waitFor();
  await eventually(() => hasFocus(page, undo));
  await keyboard.press('Enter');
  await page.locator('.task', { hasText: 'Sweep the kiln' }).waitFor();
  await finish();
});

testInBrowser('every page works on a phone and a desktop, accessible and without errors', async t => {
  await server.app.commands['user.password']({ user: 'owner', password: PASSWORD });
  await fillHome(server);
  for (const viewport of [PHONE, DESK]) {
    const { page, finish, complaints } = await open(t, viewport);
    await signIn(page, server);
    for (const path of PATHS) {
      await page.goto(server.url + path);
      await settled(page);
      if (isThorough || viewport === DESK || ON_PHONE.includes(path))
        t.deepEqual(await inaccessible(page), [], path);
      const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
      t.false(isWider, `${path} is wider than the screen`);
    }
    // A missing resource is a 404, which the console logs.
    const unknown = complaints.filter(each => /status of 404/.test(each)).length;
    t.true(unknown > 0);
    complaints.splice(0, complaints.length, ...complaints.filter(each => !/status of 404/.test(each)));
    await finish();
  }
});

testInBrowser('conversations are found, corrected, named and deleted, with time to undo', async t => {
  const { page, finish } = await open(t, DESK);
  await signIn(page, server, '/conversations');
  await page.getByLabel('Search conversations').fill('plumber');
  await page
    .locator('a.row', { hasText: /plumber/i })
    .first()
    .click();
  await page.locator('.segment').first().waitFor();
  const title = await page.locator('h1').textContent();

  await page
    .getByRole('button', { name: /^Edit text/ })
    .first()
    .click();
  await page.locator('dialog textarea').fill('Did the plumber call again?');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('.segment p', { hasText: 'Did the plumber call again?' }).waitFor();

  await page.getByRole('button', { name: 'Speaker 1' }).first().click();
  await page.getByLabel('Somebody new').fill('Eve');
  await page.locator('dialog').getByRole('button', { name: 'Add' }).click();
  await page.getByRole('button', { name: 'Eve' }).first().waitFor();

  await page
    .getByRole('button', { name: 'Export' })
    .or(page.locator('summary[aria-label=Export]'))
    .first()
    .click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'SRT' }).click(),
  ]);
  t.regex(file.suggestedFilename(), /\.srt$/);

  await page.getByRole('button', { name: 'Delete conversation' }).click();
  await page.getByText('Conversation deleted').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.locator('.segment').first().waitFor();
  t.truthy(title);
  await finish();
});

testInBrowser('when two browsers and a program change the same text, no change is lost silently', async t => {
  const { post, get, token } = await accountOf(server, 'owner');
  const segments = [{ text: 'We meet at the lake', start: 0, end: 2, speaker: 'SPEAKER_01' }];
  const { id } = await post('/v1/dev/user/conversations/from-segments', { transcript_segments: segments });
  const browsers = await Promise.all([open(t, DESK), open(t, PHONE)]);
  for (const { page, complaints } of browsers) {
    page.on('response', response => {
      if (response.status() === 409) complaints.length = 0; // the console logs each refusal
    });
    await signIn(page, server, `/conversations/${id}`);
    await page.getByRole('button', { name: /^Edit text/ }).click();
  }
  const [first, second] = browsers.map(({ page }) => page) as [Page, Page];
  await first.locator('dialog textarea').fill('We eat at the lake');
  await first.getByRole('button', { name: 'Save' }).click();
  await second.locator('.segment p', { hasText: 'We eat at the lake' }).waitFor();
  await second.locator('dialog textarea').fill('We meet at the gate');
  await second.getByRole('button', { name: 'Save' }).click();
  await second.locator('dialog .theirs', { hasText: 'We eat at the lake' }).waitFor();
  t.is(await second.locator('dialog textarea').inputValue(), 'We meet at the gate');
  t.deepEqual(await inaccessible(second), []);
  await second.getByRole('button', { name: 'Save my version' }).click();
  await first.locator('.segment p', { hasText: 'We meet at the gate' }).waitFor();

  const stored = await get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
  const [segment] = stored.transcript_segments as { id: string }[];
  const path = `/v1/conversations/${id}/segments/${segment?.id}`;
  const correct = (body: object) =>
    fetch(server.url + path, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  const answer = await correct({ text: 'By a program', expected: { text: 'We eat at the lake' } });
  t.is(answer.status, 409);
  const { detail } = (await answer.json()) as { detail: { current: object } };
  t.deepEqual(detail.current, { text: 'We meet at the gate' });

  await first.getByRole('button', { name: 'Speaker 1' }).click();
  t.is((await correct({ person_id: 'user' })).status, 200);
  await first.getByLabel('Somebody new').fill('Nora');
  await first.locator('dialog').getByRole('button', { name: 'Add' }).click();
  await first.locator('dialog .theirs', { hasText: 'Me' }).waitFor();
  await first.getByRole('button', { name: 'Keep the current version' }).click();
  t.is(await first.getByRole('button', { name: 'Nora' }).count(), 0);
  for (const { page } of browsers) await page.context().close();
});

testInBrowser('tasks and memories are added, and appear when a program adds them', async t => {
  const { page, finish } = await open(t, PHONE);
  const { post } = await accountOf(server, 'owner');
  await signIn(page, server, '/tasks');
  await page.getByLabel('What needs to be done?').fill('Water the ferns');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.locator('.task', { hasText: 'Water the ferns' }).waitFor();
  await post('/v1/dev/user/action-items', { description: 'By a program' });
  await page.locator('.task', { hasText: 'By a program' }).waitFor();
  await page.getByLabel('Mark as done: Water the ferns').check();
  await page.locator('.task', { hasText: 'Water the ferns' }).waitFor({ state: 'detached' });
  await page.goto(`${server.url}/memories`);
  await post('/v1/dev/user/memories', { content: 'Keeps ferns', category: 'hobbies' });
  await page.locator('.row', { hasText: 'Keeps ferns' }).waitFor();
  await finish();
});

testInBrowser('listening is paused and resumed, by this page and by others', async t => {
  const { page, finish } = await open(t, PHONE);
  await signIn(page, server, '/');
  await page.getByRole('button', { name: 'Pause for an hour' }).click();
  await page.getByText(/^Listening is paused until /).waitFor();
  t.true((await server.app.commands['listening.show']({ user: 'owner' })).paused);
  await page.getByRole('button', { name: 'Resume listening' }).click();
  await page.getByRole('button', { name: 'Pause for an hour' }).waitFor();
  t.false((await server.app.commands['listening.show']({ user: 'owner' })).paused);
  await server.app.commands['listening.pause']({ user: 'owner', minutes: null });
  await page.getByText('Listening is paused', { exact: true }).waitFor();
  await server.app.commands['listening.resume']({ user: 'owner' });
  await page.getByRole('button', { name: 'Pause for an hour' }).waitFor();
  await finish();
});

testInBrowser("the settings show all reads of the account's data", async t => {
  const { page, finish } = await open(t, DESK);
  await server.get('/v1/dev/user/conversations');
  await signIn(page, server, '/settings');
  await page.locator('.accesses li', { hasText: 'API key command line conversations' }).first().waitFor();
  await finish();
});

testInBrowser('conversations are split, merged, filed, summarised again and printed', async t => {
  const { page, finish } = await open(t, PHONE);
  const { post } = await accountOf(server, 'owner');
  const segments = [
    { text: 'The heating fails again.', start: 0, end: 2, speaker: 'SPEAKER_01' },
    { text: 'Then the garden: we plant beans.', start: 60, end: 64, speaker: 'SPEAKER_01' },
  ];
  const { id } = await post('/v1/dev/user/conversations/from-segments', { transcript_segments: segments });
  await signIn(page, server, `/conversations/${id}`);
  await page.getByRole('button', { name: /^Split the conversation here/ }).click();
  await page.getByText('This is now the second part').waitFor();
  await page.locator('.segment', { hasText: 'beans' }).waitFor();
  t.is(await page.locator('.segment').count(), 1);
  const more = async (item: string) => {
    await page.locator('summary[aria-label=More]').click();
    await page.getByRole('button', { name: item }).click();
  };
  await more('Merge with another conversation');
  await page.locator('dialog input[type=search]').fill('heating');
  await page.locator('dialog li button').first().click();
  await page.locator('.segment', { hasText: 'heating' }).waitFor();
  t.is(await page.locator('.segment').count(), 2);
  await more('Move to a folder');
  t.deepEqual(await inaccessible(page), []);
  await page.locator('dialog button', { hasText: 'Work' }).click();
  await page.locator('.meta', { hasText: 'Work' }).waitFor();
  await more('Summarise again');
  await page.locator('dialog select').selectOption({ label: 'Meeting' });
  await page.locator('dialog').getByRole('button', { name: 'Summarise again' }).click();
  await page.getByText('Summarising …').waitFor();
  await page.evaluate('window.print = () => { window.printed = document.body.innerText; }');
  await page.locator('summary[aria-label=Export]').click();
  await page.getByRole('button', { name: 'Print, or PDF' }).click();
  await eventually(() => page.evaluate('window.printed'));
  t.regex(String(await page.evaluate('window.printed')), /heating fails.*plant beans/s);
  await page.locator('article.segment').first().waitFor();
  await finish();
});

testInBrowser('people and goals are added, changed and deleted in place', async t => {
  const { page, finish } = await open(t, PHONE);
  const { post } = await accountOf(server, 'owner');
  await signIn(page, server, '/people');
  await page.getByLabel('Somebody new').fill('Ida');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('button', { name: 'Edit: Ida' }).click();
  await page.locator('dialog textarea').fill('Ida Berg');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('.row', { hasText: 'Ida Berg' }).waitFor();
  await page.getByRole('button', { name: 'Delete: Ida Berg' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.locator('.row', { hasText: 'Ida Berg' }).waitFor();
  await post('/v1/people', { name: 'Nils' });
  await page.reload();
  await page.getByRole('button', { name: 'Details: Ida Berg' }).click();
  await page.getByText('No voice samples yet').waitFor();
  t.deepEqual(await inaccessible(page), []);
  await page.getByLabel('Ida Berg is the same person as').selectOption({ label: 'Nils' });
  await page.getByRole('button', { name: 'Merge', exact: true }).click();
  await page.getByRole('button', { name: 'Details: Nils' }).waitFor({ state: 'detached' });
  await page.goto(`${server.url}/goals`);
  await page.getByRole('button', { name: 'New goal' }).click();
  t.deepEqual(await inaccessible(page), []);
  await page.getByLabel('What do you want to reach?').fill('Read more');
  await page.getByLabel('Target number').fill('12');
  await page.getByLabel('Unit').fill('books');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'One more: Read more' }).click();
  await page.getByText('1 / 12 books').waitFor();
  await page.getByRole('button', { name: 'History: Read more' }).click();
  await page.locator('dialog canvas').waitFor();
  t.deepEqual(await inaccessible(page), []);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Edit: Read more' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No goals yet').or(page.locator('.toast')).first().waitFor();
  t.is(await page.locator('.goal').count(), 0);
  await finish();
});

testInBrowser(
  'several memories and tasks are selected at once, and earlier versions of a memory can be seen',
  async t => {
    const { page, finish } = await open(t, DESK);
    const { post } = await accountOf(server, 'owner');
    await signIn(page, server, '/memories');
    await post('/v1/dev/user/memories', { content: 'Cycles to work', category: 'lifestyle' });
    await page.getByRole('button', { name: 'Edit: Cycles to work' }).click();
    await page.locator('dialog textarea').fill('Walks to work');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'History: Walks to work' }).click();
    t.deepEqual(await inaccessible(page), []);
    await page.locator('.versions li', { hasText: 'Walks to work' }).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    await page.getByLabel('Select: Walks to work').check();
    await page.getByText('1 selected').waitFor();
    await page.locator('.selection').getByRole('button', { name: 'Delete' }).click();
    await page.locator('.row', { hasText: 'Walks to work' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'To review' }).click();
    await page.getByText('Nothing to review').or(page.locator('.row')).first().waitFor();
    await page.goto(`${server.url}/tasks`);
    const now = new Date();
    const due_at = new Date(now.getFullYear(), now.getMonth() + 1, 1, 12).toISOString();
    await post('/v1/dev/user/action-items', { description: 'Due next month', due_at });
    for (const description of ['Bulk one', 'Bulk two'])
      await post('/v1/dev/user/action-items', { description });
    await page.locator('.task', { hasText: 'Bulk two' }).waitFor();
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    for (const name of ['Bulk one', 'Bulk two']) await page.getByLabel(`Select: ${name}`).check();
    await page.getByRole('button', { name: 'Complete' }).click();
    await page.locator('.task', { hasText: 'Bulk two' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Calendar' }).click();
    await page.getByRole('button', { name: 'Next month' }).click();
    await page.locator('.month .day .count').first().waitFor();
    await page.getByRole('button', { name: /^1 \w+: [1-9]\d* tasks?$/ }).waitFor();
    t.deepEqual(await inaccessible(page), []);
    await finish();
  },
);

testInBrowser('the words of recent days are shown as charts', async t => {
  const { page, finish } = await open(t, PHONE);
  await signIn(page, server, '/statistics');
  await page.locator('.chart canvas').nth(1).waitFor();
  t.true((await page.locator('.chart table tr').count()) >= 24);
  await page.getByRole('button', { name: '90 days' }).click();
  await page.locator('.share').first().waitFor();
  t.deepEqual(await inaccessible(page), []);
  await finish();
});

testInBrowser(
  "the device's microphone is recorded, shown live, and continues after a lost connection",
  async t => {
    const { page, finish } = await open(t, PHONE);
    const lines: WebSocketRoute[] = [];
    await page.routeWebSocket(/\/v4\/web\/listen/, line => {
      line.connectToServer();
      lines.push(line);
    });
    await signIn(page, server);
    await page.getByRole('button', { name: 'Record with this device' }).click();
    const words = page.locator('.words p', { hasText: /\d+ tenths/ });
    await words.first().waitFor();
    await eventually(() => page.evaluate('document.querySelector("meter.level")?.value > 0'));
    t.deepEqual(await inaccessible(page), []);
    // The message stays for 2 s, too short for a busy machine to check in time: every change of the page is
    // recorded.
    await page.evaluate(`window.shown = [];
      new MutationObserver(() => window.shown.push(document.body.innerText))
        .observe(document.body, { subtree: true, childList: true, characterData: true });`);
    await lines[0]?.close();
    await eventually(() =>
      page.evaluate(`window.shown.some(text => text.includes('Recording. The server cannot be reached'))`),
    );
    await page.getByText('Recording', { exact: true }).waitFor();
    t.true(lines.length > 1);
    t.regex(lines.at(-1)?.url() ?? '', /from=[1-9]/);
    await page.getByRole('button', { name: 'Stop recording' }).click();
    await page.getByRole('button', { name: 'Record with this device' }).waitFor();
    await finish();
  },
);

testInBrowser('one button enables notifications on this device, and those sent to it are shown', async t => {
  const service = await startPushService();
  t.teardown(service.close);
  const { page, finish } = await open(t, PHONE);
  await page.context().grantPermissions(['notifications'], { origin: server.url });
  // The only part that needs a vendor's service: the browser's result of subscribing to one.
  await page.addInitScript(`PushManager.prototype.subscribe = async options => {
    window.subscribedWith = options.applicationServerKey;
    const json = ${JSON.stringify(service.subscription)};
    return { toJSON: () => json };
  }`);
  await signIn(page, server, '/notifications');
  await page.getByRole('button', { name: 'Notify this device' }).click();
  await page.locator('li', { hasText: 'web-push' }).waitFor();
  t.regex(String(await page.evaluate('window.subscribedWith')), /^[\w-]{87}$/);
  await page.locator('li', { hasText: 'web-push' }).getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('The test was sent').waitFor();
  t.is(service.pushed.length, 1);
  t.deepEqual(await inaccessible(page), []);

  const devtools = await page.context().newCDPSession(page);
  let registrationId = '';
  devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    registrationId = registrations[0]?.registrationId ?? registrationId;
  });
  await devtools.send('ServiceWorker.enable');
  await page.evaluate('navigator.serviceWorker.ready.then(() => true)');
  await eventually(() => registrationId !== '');
  const data = JSON.stringify(service.pushed[0]?.payload);
  // Chromium silently drops a message if its worker cannot start in time, so it is delivered until it is
  // shown.
  await eventually(async () => {
    await devtools.send('ServiceWorker.deliverPushMessage', { origin: server.url, registrationId, data });
    return page.evaluate(`(async () => {
      const worker = await navigator.serviceWorker.ready;
      for (let look = 0; look < 50; look++) {
        const shown = await worker.getNotifications();
        if (shown.length === 1 && shown[0].title !== '') return true;
        await new Promise(next => setTimeout(next, 100));
      }
      return false;
    })()`);
  });
  await page.getByRole('button', { name: 'Add an address' }).click();
  await page.getByLabel('Channel').selectOption({ index: 0 });
  t.deepEqual(await inaccessible(page), []);
  await page.getByRole('button', { name: 'Close' }).click();
  await page
    .getByRole('button', { name: /^Delete: / })
    .first()
    .click();
  await page.locator('li', { hasText: 'web-push' }).waitFor({ state: 'detached' });
  await finish();
});

testInBrowser('wearables, apps and deliveries are managed on one page', async t => {
  const { page, finish } = await open(t, DESK);
  const { token, get } = await accountOf(server, 'owner');
  const report = {
    name: 'Kitchen',
    devices: [{ id: 'omi_1', name: 'Pin', source: 'omi', state: 'streaming', battery: 9, signal_dbm: -60 }],
  };
  const answer = await fetch(`${server.url}/v1/bridges/kitchen`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(report),
  });
  t.is(answer.status, 200, await answer.text());
  await signIn(page, server, '/connections');
  await page.locator('.row', { hasText: 'Battery 9 %' }).waitFor();
  await page.getByRole('button', { name: 'Edit: Pin' }).click();
  await page.locator('dialog textarea').fill('Necklace');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('.row', { hasText: 'Necklace' }).waitFor();
  await page.getByRole('button', { name: 'Forget: Necklace' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.locator('.row', { hasText: 'Necklace' }).waitFor();

  const query = { codec: 'pcm16', sample_rate: 16_000, source: 'omi', client_device_id: 'omi_1' };
  const device = await connectListen(server.url, server.key, query);
  await page.getByRole('link', { name: 'Now' }).click();
  await page.locator('.chip.live', { hasText: 'Necklace9 %' }).waitFor();
  device.socket.close();
  await eventually(
    () => get('/v1/deliveries') as Promise<unknown> as Promise<{ attempts: number }[]>,
    found => found.length > 0 && found.every(({ attempts }) => attempts > 0),
  );
  await page.getByRole('link', { name: 'Connections' }).click();

  await page.getByRole('button', { name: 'New app' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Diary');
  t.deepEqual(await inaccessible(page), []);
  await page.locator('dialog').getByRole('button', { name: 'Add' }).click();
  await page.locator('dialog .secret').first().waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Install: Diary' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Install' }).click();
  await page.getByRole('button', { name: 'Uninstall: Diary' }).click();
  await page.getByRole('button', { name: 'Install: Diary' }).waitFor();
  await page.getByRole('button', { name: 'Delete: Diary' }).click();
  await page.getByText('There are no apps.').waitFor();

  await page
    .getByRole('button', { name: /^Details: / })
    .first()
    .click();
  await page.locator('dialog .versions').waitFor();
  t.deepEqual(await inaccessible(page), []);
  await finish();
});

testInBrowser(
  'recordings are imported, a voice assignment is undone, and a calendar is connected',
  async t => {
    const { page, complaints, finish } = await open(t, DESK);
    const { post } = await accountOf(server, 'owner');
    await signIn(page, server, '/conversations');
    await page.getByRole('button', { name: 'Import recordings' }).click();
    await page.getByLabel('Files').setInputFiles(RECORDING);
    await page.locator('dialog').getByRole('link', { name: 'Open the conversation' }).first().waitFor();
    t.deepEqual(await inaccessible(page), []);
    await page.getByRole('button', { name: 'Close' }).click();

    const eve = await post('/v1/people', { name: 'Eve of the lake' });
    const segments = [{ text: 'The lake is cold', start: 0, end: 2, speaker: 'SPEAKER_01' }];
    const { id } = await post('/v1/dev/user/conversations/from-segments', { transcript_segments: segments });
    await post(`/v1/conversations/${id}/speakers/1`, { person_id: eve.id });
    await page.reload();
    await page.getByLabel('Any person').selectOption('Eve of the lake');
    await page.getByLabel('Any source').selectOption('external_integration');
    await page.locator(`a.row[href="/conversations/${id}"]`).waitFor();
    t.is(await page.locator('a.row').count(), 1);
    await page.getByLabel('Any source').selectOption('omi');
    await page.getByText('Nothing was found').waitFor();

    await page.goto(`${server.url}/people`);
    await page.getByRole('button', { name: /^Undo: Eve of the lake/ }).click();
    await page.getByText('Undone').waitFor();
    await page.getByLabel(/^Or upload a recording/).setInputFiles(RECORDING);
    await page.locator('.problem', { hasText: 'Voices are not distinguished on this server' }).waitFor();
    t.deepEqual(await inaccessible(page), []);

    await post('/v1/dev/user/goals', { title: 'Run 500 km this year', target_value: 500, unit: 'km' });
    const told = { text: 'I ran five kilometres today.', start: 0, end: 2, is_user: true };
    await post('/v1/dev/user/conversations/from-segments', { transcript_segments: [told] });
    await page.goto(`${server.url}/goals`);
    await page.getByRole('button', { name: 'Accept: I ran five kilometres today.' }).click();
    await page.getByText('5 / 500 km').waitFor();

    const caldav = await openCaldavServer();
    t.teardown(caldav.close);
    await page.goto(`${server.url}/settings`);
    await page.locator('summary', { hasText: 'Connect a calendar' }).click();
    await page.getByLabel('Address of the CalDAV server').fill(caldav.url);
    await page.getByLabel('Account name there').fill('ada');
    await page.getByLabel('Password', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Connect a calendar' }).click();
    await page.locator('details .problem', { hasText: /\S/ }).first().waitFor();
    await page.getByLabel('Password', { exact: true }).fill('secret');
    await page.getByRole('button', { name: 'Connect a calendar' }).click();
    await page.getByText('Tasks and appointments are written to the calendar').waitFor();
    t.deepEqual(await inaccessible(page), []);
    await page.getByRole('button', { name: 'Disconnect the calendar' }).click();
    await page.locator('summary', { hasText: 'Connect a calendar' }).waitFor();
    complaints.splice(0, complaints.length, ...complaints.filter(each => !/status of (4|503)/.test(each))); // refusals
    await finish();
  },
);

testInBrowser('an account exports its data, and its vocabulary is stored', async t => {
  const { page, finish } = await open(t, PHONE);
  await signIn(page, server, '/settings');
  await page.getByLabel('Names and words').fill('Earshot\nDr. Okonkwo');
  await page.locator('form', { hasText: 'Names and words' }).getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved').waitFor();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export my data' }).click(),
  ]);
  t.is(file.suggestedFilename(), 'earshot.zip');
  await page.getByRole('button', { name: 'Delete my account' }).click();
  t.true(await page.locator('dialog button[type=submit]').isDisabled());
  t.deepEqual(await inaccessible(page), []);
  await finish();
});

testInBrowser('questions are answered in a persistent chat, with sources that open their moment', async t => {
  const { page, finish } = await open(t, PHONE);
  await signIn(page, server, '/ask');
  const ask = async (question: string) => {
    await page.getByLabel('Question').fill(question);
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.locator('.chat[aria-busy=false] .asked', { hasText: question }).waitFor();
  };
  await ask('What about spinach for dinner?');
  const source = page.locator('.sources li', { hasText: 'lasagne' });
  await source.first().waitFor();
  t.deepEqual(await inaccessible(page), []);
  await page.reload(); // it is stored
  const moment = page.locator('.sources li', { has: page.locator('a[href*="?segment="]') }).first();
  const said = (await moment.locator('blockquote').textContent()) ?? '';
  t.true(said.length > 10);
  await moment.locator('a').click();
  await page.locator('.segment[aria-current]', { hasText: said }).waitFor();
  t.deepEqual(await inaccessible(page), []);
  await page.goto(`${server.url}/ask`);
  await page.locator('.asked').waitFor();
  await page.getByRole('button', { name: 'New chat' }).click();
  await ask('Who plays the xylophone?');
  await page.locator('.chat .answer').waitFor();
  await page.getByLabel('Chats').waitFor();
  t.deepEqual(await inaccessible(page), []);
  await page.getByRole('button', { name: 'Delete chat' }).click();
  await page.locator('.asked', { hasText: 'spinach' }).waitFor();
  await page.getByRole('button', { name: 'Delete chat' }).click();
  await page.getByText('Ask what was said').waitFor();
  await finish();
});

testInBrowser('an unreachable server is reported, and the page recovers with it', async t => {
  const { page } = await open(t, PHONE);
  await signIn(page, server);
  await page.getByRole('link', { name: 'Now' }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole('link', { name: 'Tasks' }).click();
  await page.getByText('The server cannot be reached').first().waitFor();
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await page.locator('.task').first().waitFor();
  t.is(await page.getByText('The server cannot be reached').count(), 0);
  await page.context().close();
});

testInBrowser('cached data can be read without the server, and unsaved input is not lost', async t => {
  t.timeout(600_000);
  const own = await buildServer(countingStt());
  let isStopped = false;
  t.teardown(() => isStopped || own.stop());
  await own.app.commands['user.password']({ user: 'owner', password: PASSWORD });
  const { post } = await accountOf(own, 'owner');
  const segments = [{ text: 'The ferry leaves at nine', start: 0, end: 2, speaker: 'SPEAKER_01' }];
  const { id } = await post('/v1/dev/user/conversations/from-segments', { transcript_segments: segments });
  const { page } = await openPage(browser, PHONE);
  await signIn(page, own, '/conversations');
  await page.locator('a.row').first().click();
  await page.locator('.segment', { hasText: 'ferry' }).waitFor();
  await eventually(() => page.evaluate('navigator.serviceWorker.controller !== null'));
  await eventually(() =>
    page.evaluate(`caches.open('earshot-data').then(kept => kept.match(
    '/v1/dev/user/conversations/${id}?include_transcript=true')).then(Boolean)`),
  );
  await own.stop();
  isStopped = true;
  await page.reload();
  await page.locator('.segment', { hasText: 'ferry' }).waitFor();
  await page.getByText('The server cannot be reached').first().waitFor();
  await page.getByRole('button', { name: /^Edit text/ }).click();
  await page.locator('dialog textarea').fill('The ferry leaves at ten');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('dialog .problem', { hasText: 'The server cannot be reached' }).waitFor();
  t.is(await page.locator('dialog textarea').inputValue(), 'The ferry leaves at ten');
  t.deepEqual(await inaccessible(page), []);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.locator('nav').getByRole('link', { name: 'Conversations' }).click();
  await page.locator('a.row').first().waitFor();
  await page.goto(`${own.url}/settings`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  await eventually(async () => !(await page.evaluate(`caches.has('earshot-data')`)));
  await page.context().close();
});

testInBrowser('the page is in German if the device is', async t => {
  const { page, complaints } = await openPage(browser, PHONE, { locale: 'de-DE' });
  await page.goto(server.url);
  await page.getByRole('button', { name: 'Anmelden' }).waitFor();
  t.is(await page.getAttribute('html', 'lang'), 'de');
  t.deepEqual(complaints, []);
  await page.context().close();
});
