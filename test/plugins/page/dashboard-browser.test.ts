import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Browser, Page, WebSocketRoute } from 'playwright-core';
import { buildDashboard } from '../../../config/setup/dashboard.mjs';
import { readRecording } from '../../../core/audio/recording-file.ts';
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
  signIn,
} from '../../helpers/browser.ts';
import { eventually } from '../../helpers/eventually.ts';
import { fillHome } from '../../helpers/home.ts';
import { connectListen } from '../../helpers/listen-client.ts';
import { startPushService } from '../../helpers/push-service.ts';
import { buildServer, countingStt, type TestServer } from '../../helpers/services.ts';

const ROOT = join(import.meta.dirname, '../../..');
const RECORDING = join(ROOT, 'bridge/simulator/recording.wav');
const PATHS = [
  ...['/', '/conversations', '/tasks', '/memories', '/ask', '/more', '/connections', '/notifications'],
  ...['/people', '/goals', '/statistics'],
  ...['/settings', '/system', '/conversations/unknown'],
];
const MARKUP = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
/** More pages with what anyone can write. */
const PLACES = ['/people', '/goals', '/notifications'];
const ROUTES_MS = 30_000;

const testInBrowser = findChromium() === null ? test.skip : test.serial;
let browser: Browser;
let server: TestServer;

test('there is a Chromium, or this is not CI and the tests in a browser are skipped', t => {
  if (findChromium() === null) t.log(`SKIPPED: all tests in a browser. ${HOW}`);
  t.falsy(findChromium() === null && process.env.CI && process.env.EARSHOT_SKIP !== 'browser', HOW);
});

if (findChromium() !== null) {
  test.before(async () => {
    buildDashboard(ROOT, { say() {} });
    [browser, server] = await Promise.all([
      launch(),
      buildServer({ ...countingStt(), delivery: { allowHosts: ['127.0.0.1'] } }),
    ]);
  });
  test.after.always(async () => {
    await browser?.close();
    await server?.stop();
  });
}

/** A page that is closed at the end of its test, which fails where anything went wrong on it. */
async function open(t: ExecutionContext, viewport: { width: number; height: number }) {
  t.timeout(120_000);
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

async function settled(page: Page): Promise<void> {
  await page.locator('h1').waitFor();
  await page.locator('.skeletons').first().waitFor({ state: 'detached' });
}

testInBrowser('the link of a first start leads to a password, and from there to live words', async t => {
  const { page, finish } = await open(t, PHONE);
  await page.goto((await server.app.welcomeUrl()) ?? '');
  await page.getByLabel('Password').fill(PASSWORD);
  t.deepEqual(await inaccessible(page), []);
  await page.getByRole('button', { name: 'Begin' }).click();
  await page.getByText('No wearable is connected').waitFor();
  t.is(new URL(page.url()).pathname, '/');

  const device = await connectListen(server.url, server.key, {
    codec: 'pcm16',
    sample_rate: 16_000,
    source: 'omi',
  });
  const { samples } = await readRecording(RECORDING);
  await page.locator('.chip.live', { hasText: 'omi' }).waitFor();
  for (let at = 0; at < samples.length; at += 16_000)
    device.socket.send(Buffer.from(samples.slice(at, at + 16_000).buffer));
  await page
    .locator('.words p', { hasText: /\d+ tenths/ })
    .first()
    .waitFor();
  t.true((await page.locator('.live-card .status.on').count()) === 1);
  device.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  await page.getByRole('link', { name: 'Open the conversation' }).first().waitFor();
  device.socket.close();
  await page.reload();
  await page.locator('nav.side').waitFor(); // the cookie signs in again
  await finish();
});

testInBrowser('every page is shown on a phone and a desk, without an error and for everyone', async t => {
  await server.app.commands['user.password']({ user: 'owner', password: PASSWORD });
  await fillHome(server);
  for (const viewport of [PHONE, DESK]) {
    const { page, finish, complaints } = await open(t, viewport);
    await signIn(page, server);
    for (const path of PATHS) {
      await page.goto(server.url + path);
      await settled(page);
      t.deepEqual(await inaccessible(page), [], path);
      const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
      t.false(isWider, `${path} is wider than the screen`);
    }
    // What is not there is told by a 404, which the console notes.
    const unknown = complaints.filter(each => /status of 404/.test(each)).length;
    t.true(unknown > 0);
    complaints.splice(0, complaints.length, ...complaints.filter(each => !/status of 404/.test(each)));
    await finish();
  }
});

testInBrowser('conversations are found, corrected, named and deleted with time to take it back', async t => {
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

testInBrowser(
  'of two browsers and a program that change the same words, nobody loses in silence',
  async t => {
    const { post, get, token } = await accountOf(server, 'owner');
    const segments = [{ text: 'We meet at the lake', start: 0, end: 2, speaker: 'SPEAKER_01' }];
    const { id } = await post('/v1/dev/user/conversations/from-segments', { transcript_segments: segments });
    const browsers = await Promise.all([open(t, DESK), open(t, PHONE)]);
    for (const { page, complaints } of browsers) {
      page.on('response', response => {
        if (response.status() === 409) complaints.length = 0; // the console notes each refusal
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
    await first.getByRole('button', { name: 'Keep it as it is now' }).click();
    t.is(await first.getByRole('button', { name: 'Nora' }).count(), 0);
    for (const { page } of browsers) await page.context().close();
  },
);

testInBrowser('tasks and memories are added, and appear when a program adds them', async t => {
  const { page, finish } = await open(t, PHONE);
  const { post } = await accountOf(server, 'owner');
  await signIn(page, server, '/tasks');
  await page.getByLabel('What is to be done?').fill('Water the ferns');
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

testInBrowser('conversations are split, merged, filed, summarised again and printed', async t => {
  const { page, finish } = await open(t, PHONE);
  const { post } = await accountOf(server, 'owner');
  const segments = [
    { text: 'The heating fails again.', start: 0, end: 2, speaker: 'SPEAKER_01' },
    { text: 'Then the garden: we plant beans.', start: 60, end: 64, speaker: 'SPEAKER_01' },
  ];
  const { id } = await post('/v1/dev/user/conversations/from-segments', { transcript_segments: segments });
  await signIn(page, server, `/conversations/${id}`);
  await page.getByRole('button', { name: /^Begin another conversation here/ }).click();
  await page.getByText('This is the second part now').waitFor();
  await page.locator('.segment', { hasText: 'beans' }).waitFor();
  t.is(await page.locator('.segment').count(), 1);
  const more = async (item: string) => {
    await page.locator('summary[aria-label=More]').click();
    await page.getByRole('button', { name: item }).click();
  };
  await more('Merge with another one');
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

testInBrowser('people and goals are added, changed and deleted in their place', async t => {
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
  await page.getByRole('button', { name: 'Make them one' }).click();
  await page.getByRole('button', { name: 'Details: Nils' }).waitFor({ state: 'detached' });
  await page.goto(`${server.url}/goals`);
  await page.getByRole('button', { name: 'New goal' }).click();
  t.deepEqual(await inaccessible(page), []);
  await page.getByLabel('What do you want to reach?').fill('Read more');
  await page.getByLabel('Number to reach').fill('12');
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
  'several memories and tasks are chosen at once, and what a memory said before can be seen',
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
    for (const description of ['Bulk one', 'Bulk two'])
      await post('/v1/dev/user/action-items', { description });
    await page.locator('.task', { hasText: 'Bulk two' }).waitFor();
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    for (const name of ['Bulk one', 'Bulk two']) await page.getByLabel(`Select: ${name}`).check();
    await page.getByRole('button', { name: 'Complete' }).click();
    await page.locator('.task', { hasText: 'Bulk two' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Calendar' }).click();
    await page.getByRole('button', { name: 'Next month' }).click();
    await page.locator('.month .day').first().waitFor();
    t.deepEqual(await inaccessible(page), []);
    await finish();
  },
);

testInBrowser('the words of the last days are shown as charts', async t => {
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
  'the microphone of the device is recorded, shown live, and goes on after a lost connection',
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
    await eventually(() => page.evaluate('document.querySelector("meter.level").value > 0'));
    t.deepEqual(await inaccessible(page), []);
    await lines[0]?.close();
    await page.getByText('Recording; the server is not reached').waitFor();
    await page.getByText('Recording', { exact: true }).waitFor();
    t.is(lines.length, 2);
    t.regex(lines[1]?.url() ?? '', /from=[1-9]/);
    await page.getByRole('button', { name: 'Stop recording' }).click();
    await page.getByRole('button', { name: 'Record with this device' }).waitFor();
    await finish();
  },
);

testInBrowser('this device is notified by one button, and what is sent there is shown', async t => {
  const service = await startPushService();
  t.teardown(service.close);
  const { page, finish } = await open(t, PHONE);
  await page.context().grantPermissions(['notifications'], { origin: server.url });
  // The only part that needs a vendor's service: what a browser answers once it has subscribed at one.
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
  await devtools.send('ServiceWorker.deliverPushMessage', { origin: server.url, registrationId, data });
  await eventually(() =>
    page.evaluate(`navigator.serviceWorker.ready
    .then(worker => worker.getNotifications())
    .then(shown => shown.length === 1 && shown[0].title !== '')`),
  );
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
  const { token } = await accountOf(server, 'owner');
  const report = {
    name: 'Kitchen',
    devices: [{ id: 'omi_1', name: 'Omi', source: 'omi', state: 'streaming', battery: 9, signal_dbm: -60 }],
  };
  const answer = await fetch(`${server.url}/v1/bridges/kitchen`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(report),
  });
  t.is(answer.status, 200, await answer.text());
  await signIn(page, server, '/connections');
  await page.locator('.row', { hasText: 'Battery 9 %' }).waitFor();
  await page.getByRole('button', { name: 'Edit: Omi' }).click();
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

testInBrowser('an account takes its data along, and its words are kept', async t => {
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

testInBrowser('questions are answered in a chat that stays, with sources that open the moment', async t => {
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
  await page.reload(); // it is kept
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

testInBrowser('markup that anyone wrote is shown as text', async t => {
  const { page, finish } = await open(t, DESK);
  const { post } = await accountOf(server, 'owner');
  const segments = [{ text: MARKUP, start: 0, end: 2, speaker: 'SPEAKER_01' }];
  const { id } = await post('/v1/dev/user/conversations/from-segments', { transcript_segments: segments });
  await post('/v1/people', { name: MARKUP });
  await post('/v1/dev/user/memories', { content: MARKUP, category: 'other' });
  await post('/v1/dev/user/action-items', { description: MARKUP });
  await post('/v1/dev/keys', { name: MARKUP.slice(0, 60) });
  await post('/v1/folders', { name: MARKUP.slice(0, 60) });
  await post('/v1/apps', { name: MARKUP.slice(0, 60), description: MARKUP });
  await post('/v1/dev/user/goals', { title: MARKUP, desired_outcome: MARKUP });
  await post('/v1/summary-templates', { name: MARKUP.slice(0, 60), instructions: MARKUP });
  await post('/v1/notifications/addresses', { channel: 'log', label: MARKUP.slice(0, 60), address: {} });
  await post('/v2/chat-sessions');
  const { token } = await accountOf(server, 'owner');
  await fetch(`${server.url}/v1/dev/user/conversations/${id}`, {
    method: 'PATCH',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ title: MARKUP }),
  });
  await signIn(page, server);
  for (const path of [
    `/conversations/${id}`,
    '/conversations',
    '/memories',
    '/tasks',
    '/connections',
    ...PLACES,
  ]) {
    await page.goto(server.url + path);
    await settled(page);
    await page.locator('#main :not(option)', { hasText: '<img src=x' }).first().waitFor();
    t.is(await page.locator('#main img').count(), 0, path);
    t.not(await page.title(), 'owned', path);
  }
  await finish();
});

testInBrowser('a server that is gone is told of, and the page comes back with it', async t => {
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

testInBrowser('what was read last can be read without the server, and what is typed is not lost', async t => {
  t.timeout(120_000);
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
  await page.getByRole('link', { name: 'Conversations' }).click();
  await page.locator('a.row').first().waitFor();
  await page.goto(`${own.url}/settings`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  await eventually(async () => !(await page.evaluate(`caches.has('earshot-data')`)));
  await page.context().close();
});

testInBrowser('the page speaks German where the device does', async t => {
  const { page, complaints } = await openPage(browser, PHONE, { locale: 'de-DE' });
  await page.goto(server.url);
  await page.getByRole('button', { name: 'Anmelden' }).waitFor();
  t.is(await page.getAttribute('html', 'lang'), 'de');
  t.deepEqual(complaints, []);
  await page.context().close();
});
