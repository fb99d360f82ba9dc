/**
 * Pages of the dashboard with no data, an unreachable server, an expired session, a slow network, or markup
 * in users' text.
 */
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Browser, CDPSession, Locator, Page, Request } from 'playwright-core';
import { buildDashboard } from '../../../config/setup/dashboard.mjs';
import { openSqlite } from '../../../plugins/storage/sql/sqlite.ts';
import { accountOf } from '../../helpers/accounts.ts';
import { type BreakableLine, openBreakableLine } from '../../helpers/breakable-line.ts';
import {
  DESK,
  findChromium,
  inaccessible,
  launch,
  openPage,
  PASSWORD,
  PHONE,
  settled,
  signIn,
} from '../../helpers/browser.ts';
import { openCaldavServer } from '../../helpers/caldav-server.ts';
import { fillHome } from '../../helpers/home.ts';
import { takePhoto } from '../../helpers/photo.ts';
import { buildServer, countingStt, type TestServer } from '../../helpers/services.ts';
import { storageContext } from '../../helpers/storage.ts';
import { isThorough } from '../../helpers/thorough.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** Generous, as a browser beside other work is slow. */
const PATIENCE_MS = 240_000;
const SIZES = { phone: PHONE, desk: DESK };
/** Delay of each response on a slow network, in milliseconds, until the network is fast again. */
const LATENCY_MS = 100_000;

/** Every page, a text shown on it without data, and an element that it has for a full account. */
const PAGES = [
  { path: '/', empty: 'No wearable is connected', full: '.list a.row' },
  { path: '/conversations', empty: 'No conversations yet', full: '.virtual a.row' },
  { path: '/tasks', empty: 'Nothing to do', full: '.task' },
  { path: '/memories', empty: 'No memories yet', full: '.list .row' },
  { path: '/ask', empty: 'Ask what was said', full: '.empty' },
  { path: '/more', empty: 'Statistics', full: '.menu a' },
  { path: '/people', empty: 'Nobody is known yet', full: '.list .row' },
  { path: '/places', empty: 'No places yet', full: '.list .row' },
  { path: '/goals', empty: 'No goals yet', full: '.goal' },
  { path: '/statistics', empty: 'Nothing was said', full: '.share' },
  { path: '/connections', empty: 'There are no webhooks.', full: '.plain code' },
  { path: '/notifications', empty: 'No notifications.', full: '.plain.stacked li' },
  { path: '/settings', empty: 'With a secret address', full: '.accesses li' },
  { path: '/system', empty: 'Operators see more here.', full: '.health.ok' },
] as const;
/** Pages without requests of their own. */
const STILL = ['/more'];

interface Form {
  path: string;
  /** Button that opens it. */
  open?: string | RegExp;
  /** Label of its field. */
  field: string | RegExp;
  text: string;
  button: string;
  /** Request that stores the text. */
  request: string;
  /** Element that shows it once it is stored. */
  shown: string;
  /** Afterwards a dialog shows a secret. */
  isSecret?: true;
}

const FORMS: readonly Form[] = [
  {
    ...{ path: '/tasks', field: 'What needs to be done?', text: 'Mend the fence', button: 'Add' },
    ...{ request: 'POST /v1/dev/user/action-items', shown: '.task' },
  },
  {
    ...{ path: '/memories', field: 'What should be remembered?', text: 'The key is under the pot' },
    ...{ button: 'Add', request: 'POST /v1/dev/user/memories', shown: '.list .row' },
  },
  {
    ...{ path: '/people', field: 'Somebody new', text: 'Ottilie', button: 'Add' },
    ...{ request: 'POST /v1/people', shown: '.list .row' },
  },
  {
    ...{ path: '/goals', open: 'New goal', field: 'What do you want to reach?', text: 'Swim a mile' },
    ...{ button: 'Save', request: 'POST /v1/dev/user/goals', shown: '.goal' },
  },
  {
    ...{ path: '/connections', open: 'New key', field: 'Name of the program', text: 'Garden clock' },
    ...{ button: 'Add', request: 'POST /v1/dev/keys', shown: '.plain li', isSecret: true },
  },
  {
    ...{ path: '/connections', open: 'New webhook', field: 'Address', text: 'https://hooks.example.org/day' },
    ...{ button: 'Save', request: 'POST /v1/hooks', shown: '.plain li' },
  },
  {
    ...{ path: '/connections', open: 'New app', field: 'Name', text: 'Night diary', button: 'Add' },
    ...{ request: 'POST /v1/apps', shown: '.plain li', isSecret: true },
  },
  {
    ...{ path: '/conversations/ID', open: 'Edit title', field: 'Title', text: 'About the boiler' },
    ...{ button: 'Save', request: 'PATCH /v1/dev/user/conversations/', shown: 'h1' },
  },
  {
    ...{ path: '/conversations/ID', open: 'Edit text: 0:00', field: 'Text', text: 'Is the boiler old?' },
    ...{ button: 'Save', request: 'PATCH /v1/conversations/', shown: '.segment' },
  },
  {
    ...{
      path: '/settings',
      field: /^Names and words/,
      text: 'Ottilie',
      button: 'Save',
    },
    ...{ request: 'PUT /v1/users/vocabulary', shown: '.toast' },
  },
];

/** The forms of tasks and of a conversation: a list's, a page's and a dialog's. */
const isUsual = ({ path }: Form) => path === '/tasks' || path.includes('ID');

const testInBrowser = findChromium() === null ? test.skip : test.serial;
let browser: Browser;
let server: TestServer;
let line: BreakableLine;
let conversation: string;

if (findChromium() !== null) {
  test.before(async () => {
    buildDashboard(ROOT, { say() {} });
    const { stt, plugins } = countingStt();
    const use = join(ROOT, 'test/fixtures/plugins/markup-title.ts');
    const delivery = { allowHosts: ['127.0.0.1'] };
    const rateLimits = { enabled: false }; // nobody types that fast
    [browser, server] = await Promise.all([
      launch(),
      buildServer({ stt, plugins: { ...plugins, 'markup-title': { use } }, delivery, rateLimits }),
    ]);
    line = await openBreakableLine(server.url);
    await server.app.commands['user.password']({ user: 'owner', password: PASSWORD });
    await server.app.commands['user.role']({ user: 'owner', role: 'operator' });
    await server.app.commands['user.add']({ name: 'nina' });
    await server.app.commands['user.password']({ user: 'nina', password: PASSWORD });
    await fillHome(server);
    const { post, get } = await accountOf(server, 'owner');
    await post('/v1/hooks', { type: 'slack', url: 'https://hooks.example.org/', label: 'first' }); // shows its secret
    await post('/v1/people', { name: 'Brandt' });
    await post('/v1/dev/user/goals', { title: 'Read more', target_value: 12 });
    const [found] = await get('/v1/dev/user/conversations?limit=1');
    conversation = String(found?.id);
  });
  test.after.always(async () => {
    await browser?.close();
    await line?.close();
    await server?.stop();
  });
}

/** A page without browser storage, as over plain HTTP. */
async function open(t: ExecutionContext, viewport: { width: number; height: number }) {
  t.timeout(600_000);
  const { page, complaints } = await openPage(browser, viewport, { serviceWorkers: 'block' });
  page.setDefaultTimeout(PATIENCE_MS);
  return {
    page,
    /** @param expected console messages about requests that failed on purpose */
    async finish(expected = /^$/) {
      t.deepEqual(
        complaints.filter(each => !expected.test(each)),
        [],
      );
      await page.context().close();
    },
  };
}

/** Navigates like a link, without a reload. */
async function visit(page: Page, path: string): Promise<void> {
  const to = JSON.stringify(path.replace('ID', conversation));
  await page.evaluate(`history.pushState(null, '', ${to}); dispatchEvent(new PopStateEvent('popstate'))`);
}

const UNREACHED = 'The server cannot be reached';
/** Console messages about requests without a response. */
const REFUSED = /net::ERR_(CONNECTION|EMPTY_RESPONSE|INCOMPLETE|SOCKET_NOT_CONNECTED)/;

for (const [size, viewport] of Object.entries(SIZES))
  testInBrowser(`every page of an empty account suggests the next step, on a ${size}`, async t => {
    const { page, finish } = await open(t, viewport);
    await signIn(page, server, '/', { name: 'nina' });
    for (const { path, empty } of PAGES) {
      await visit(page, path);
      await page.locator('#main').getByText(empty).first().waitFor();
      await settled(page);
      t.is(await page.locator('#main .failure').count(), 0, path);
      const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
      t.false(isWider, `${path} is wider than the screen`);
      if (isThorough || size === 'phone') t.deepEqual(await inaccessible(page), [], path);
    }
    await finish();
  });

for (const [size, viewport] of Object.entries(SIZES))
  testInBrowser(
    `every page reports that the server was killed, and recovers with it, on a ${size}`,
    async t => {
      const { page, finish } = await open(t, viewport);
      await signIn(page, line);
      for (const { path, full } of PAGES) {
        if (STILL.includes(path)) continue;
        await visit(page, '/more');
        await page.locator('.menu').waitFor();
        await line.cut();
        await visit(page, path);
        await page.locator('#main').getByText(UNREACHED).first().waitFor();
        await page.locator('#main .failure').first().waitFor();
        const again = page.getByRole('button', { name: 'Try again' });
        await again.first().click({ trial: true }); // a user can press it
        await line.mend();
        // The script of the page or its data did not load: one click reloads everything. The page reloads by itself, too, once it
        // notices that the server is back; then nothing is left to click.
        await again
          .evaluateAll('([first]) => first?.click()')
          .catch(error => t.regex(String(error), /because of a navigation/));
        await page.locator(full).first().waitFor();
        await page.locator('#main').getByText(UNREACHED).first().waitFor({ state: 'detached' });
      }
      await finish(REFUSED);
    },
  );

/** Opens the form and types its text. */
async function fill(page: Page, { path, open, field, text }: Form): Promise<void> {
  await visit(page, path);
  await settled(page);
  if (open) await page.getByRole('button', { name: open, exact: true }).click();
  await fieldOf(page, field).fill(text);
}

/** The last one, as dialogs come after the page. */
function formOf(page: Page, field: string | RegExp): Locator {
  return page.locator('form', { has: page.getByLabel(field, { exact: true }) }).last();
}

function fieldOf(page: Page, field: string | RegExp): Locator {
  return formOf(page, field).getByLabel(field, { exact: true });
}

function buttonOf(page: Page, { field, button }: Form): Locator {
  return formOf(page, field).getByRole('button', { name: button });
}

/** Sends the form over a line that is cut meanwhile, and waits for the message. */
async function tryInVain(page: Page, form: Form): Promise<void> {
  // The message of the form before may still be shown.
  const failed = page.waitForEvent('requestfailed', request => isOf(form, request));
  await buttonOf(page, form).click();
  await failed;
  await page.locator('.toast, .problem', { hasText: UNREACHED }).first().waitFor();
}

async function isStored(page: Page, { text, shown, isSecret }: Form): Promise<void> {
  if (shown === '.toast') await page.locator(shown, { hasText: 'Saved' }).waitFor();
  else await page.locator(shown, { hasText: text }).first().waitFor();
  if (isSecret) await page.getByRole('button', { name: 'Close' }).click(); // it is shown once
}

for (const [size, viewport] of Object.entries(SIZES))
  testInBrowser(
    `every form keeps its text when the server is killed, and saves it once, on a ${size}`,
    async t => {
      const { page, finish } = await open(t, viewport);
      await signIn(page, line);
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Network.enable');
      for (const form of FORMS) {
        if (!isThorough && size === 'desk' && !isUsual(form)) continue;
        const text = `${form.text}-${size}`;
        await fill(page, { ...form, text });
        line.cutAt(form.request);
        await tryInVain(page, form);
        t.is(await fieldOf(page, form.field).inputValue(), text, form.request);
        await line.mend();

        let sent = 0;
        const count = (request: Request) => {
          if (isOf(form, request)) sent += 1;
        };
        page.on('request', count);
        await slow(devtools, LATENCY_MS);
        await buttonOf(page, form).dblclick();
        await page.getByText('Saving …').waitFor();
        await slow(devtools, 0);
        await isStored(page, { ...form, text });
        t.is(sent, 1, form.request);
        page.off('request', count);
      }
      await finish(REFUSED);
    },
  );

testInBrowser('a change that was stored although its answer was lost is not stored again', async t => {
  const { page, finish } = await open(t, PHONE);
  await signIn(page, line);
  const { get } = await accountOf(server, 'owner');
  const text = 'Water the fig';
  for (const form of FORMS.slice(0, 4)) {
    await fill(page, { ...form, text });
    line.cutAfter(form.request);
    await tryInVain(page, form);
    await line.mend();
    await buttonOf(page, form).click();
    await isStored(page, { ...form, text });
    const found = JSON.stringify(await get(`${form.request.replace('POST ', '')}?limit=200`));
    t.is(found.split(text).length - 1, 1, form.request);
  }
  await finish(REFUSED);
});

function isOf(form: Form, request: Request): boolean {
  const line = `${request.method()} ${new URL(request.url()).pathname}`;
  return form.request.endsWith('/') ? line.startsWith(form.request) : line === form.request;
}

/** Delay of each response from now on, in milliseconds. */
function slow(devtools: CDPSession, latency: number): Promise<unknown> {
  const unlimited = -1;
  return devtools.send('Network.emulateNetworkConditions', {
    ...{ offline: false, latency, downloadThroughput: unlimited, uploadThroughput: unlimited },
  });
}

testInBrowser('every page shows that it is loading on a slow network', async t => {
  const { page, finish } = await open(t, PHONE);
  await signIn(page, server);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  for (const { path, full } of PAGES) {
    if (STILL.includes(path) || path === '/') continue;
    await visit(page, path); // its script
    await page.locator(full).first().waitFor();
    await visit(page, '/more');
    await page.locator('.menu').waitFor();
    await slow(devtools, LATENCY_MS);
    await visit(page, path);
    await page.locator('.skeletons').first().waitFor();
    await slow(devtools, 0);
    await page.locator(full).first().waitFor();
  }
  await finish();
});

testInBrowser('an expired token is renewed on every page', async t => {
  const { page, finish } = await open(t, DESK);
  await signIn(page, server);
  for (const { path, full } of PAGES) {
    if (STILL.includes(path)) continue;
    await visit(page, '/more');
    await page.locator('.menu').waitFor();
    let refused = 0;
    await page.route(
      /\/(v1|v2)\/(?!auth|events)/,
      route => {
        refused += 1;
        return route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer old' } });
      },
      { times: 1 },
    );
    await visit(page, path);
    await page.locator(full).first().waitFor();
    t.is(refused, 1, path);
    await page.unrouteAll();
    t.is(await page.getByText('Please sign in again').count(), 0, path);
  }
  await finish(/status of 401/);
});

for (const [size, viewport] of Object.entries(SIZES))
  testInBrowser(
    `a signed-out user signs in again, and unsaved input is then saved, on a ${size}`,
    async t => {
      const { page, finish } = await open(t, viewport);
      await signIn(page, server);
      for (const form of FORMS.filter(form => isThorough || isUsual(form))) {
        const text = `${form.text} again ${size}`;
        await fill(page, { ...form, text });
        const before = page.url();
        await server.app.commands['user.signOut']({ user: 'owner' });
        await buttonOf(page, form).dispatchEvent('click'); // the page may have noticed before
        await page.getByText('Please sign in again').waitFor();
        t.deepEqual(await inaccessible(page), []);
        await page.getByLabel('Password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await isStored(page, { ...form, text });
        t.is(page.url(), before);
      }
      const task = { ...FORMS[0], text: 'Of the owner' } as Form;
      await fill(page, task);
      await server.app.commands['user.signOut']({ user: 'owner' });
      await buttonOf(page, task).dispatchEvent('click');
      await page.getByLabel('Name', { exact: true }).fill('nina');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('Nothing to do').waitFor(); // of another account
      t.is(await fieldOf(page, task.field).inputValue(), '');
      t.is(await page.getByText('Of the owner').count(), 0);
      await finish(/status of 401/);
    },
  );

const MARKUP = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
/** Names may be 50 characters long. */
const SHORT = MARKUP.slice(0, 49);

/** Fields that any user can write, by the page that shows them, and the buttons that open the view. */
const WRITTEN: readonly { path: string; open?: readonly string[]; what: string; at: string }[] = [
  { path: '/conversations', what: 'title', at: 'a.row strong' },
  { path: '/conversations', what: 'overview', at: '.row-text' },
  { path: '/conversations/ID', what: 'title', at: 'h1' },
  { path: '/conversations/ID', what: 'words', at: '.segment p' },
  { path: '/conversations/ID', what: 'person', at: '.segment .speaker' },
  { path: '/conversations/ID', what: 'folder', at: '.meta' },
  { path: '/conversations/ID', open: ['Summarise again'], what: 'template', at: 'dialog option' },
  { path: '/conversations/ID', open: ['Move to a folder'], what: 'folder', at: 'dialog button' },
  { path: '/tasks', what: 'task', at: '.task .row-body' },
  { path: '/memories', what: 'memory', at: '.row-body' },
  { path: '/people', what: 'person', at: '.row strong' },
  { path: '/places', what: 'place', at: '.row strong' },
  { path: '/places', what: 'address', at: '.row-meta' },
  { path: '/conversations', what: 'place', at: '.filters option' },
  { path: '/goals', what: 'goal', at: '.goal strong' },
  { path: '/goals', what: 'outcome and unit', at: '.goal span' },
  { path: '/statistics', what: 'person', at: '.share strong' },
  { path: '/ask', what: 'question', at: '.asked' },
  { path: '/connections', what: 'wearable', at: '.row strong' },
  { path: '/connections', what: 'notes of a wearable', at: '.row-body' },
  { path: '/connections', what: 'key', at: '.plain strong' },
  { path: '/connections', what: 'app', at: '.plain .faint' },
  { path: '/notifications', what: 'label', at: '.plain strong' },
  { path: '/notifications', what: 'inbox', at: '.stacked li' },
  { path: '/settings', what: 'words to expect', at: 'textarea' },
  { path: '/settings', what: 'calendar', at: '.card p' },
  { path: '/settings', what: 'reader', at: '.accesses li' },
  { path: '/system', what: 'plugin', at: '.stacked .faint' },
];

/**
 * Writes markup into every field that an account, its devices, or its apps can write. Resolves to the
 * conversation.
 */
async function writeMarkup(): Promise<{ id: string; photographed: string }> {
  await server.app.commands['user.add']({ name: 'mara' });
  await server.app.commands['user.password']({ user: 'mara', password: PASSWORD });
  await server.app.commands['user.role']({ user: 'mara', role: 'operator' });
  const { post, send, token } = await accountOf(server, 'mara');
  const segments = [
    { text: MARKUP, start: 0, end: 2, speaker: 'SPEAKER_01' },
    { text: MARKUP, start: 3, end: 5, is_user: true },
  ];
  await post('/v1/dev/user/goals', { title: SHORT, desired_outcome: MARKUP, target_value: 1, unit: SHORT });
  const { id } = await post('/v1/dev/user/conversations/from-segments', { transcript_segments: segments });
  const person = await post('/v1/people', { name: SHORT });
  await post(`/v1/conversations/${id}/speakers/1`, { person_id: person.id });
  const folder = await post('/v1/folders', { name: SHORT });
  const point = { latitude: 52.52, longitude: 13.405 };
  await post('/v1/places', { name: SHORT, ...point });
  await send('PATCH', `/v1/dev/user/conversations/${id}`, {
    ...{ title: MARKUP, folder_id: folder.id, geolocation: { ...point, address: SHORT } },
  });
  await post('/v1/summary-templates', { name: SHORT, instructions: MARKUP });
  await post('/v1/dev/user/memories', { content: MARKUP, category: 'other' });
  await post('/v1/dev/user/action-items', { description: MARKUP, due_at: new Date().toISOString() });
  const { key } = await post('/v1/dev/keys', { name: SHORT, scopes: ['conversations:read'] });
  await fetch(`${server.url}/v1/dev/user/conversations`, { headers: { Authorization: `Bearer ${key}` } });
  await post('/v1/apps', { name: SHORT, description: MARKUP });
  await post('/v1/notifications/addresses', { channel: 'log', label: SHORT, address: {} });
  await send('PUT', '/v1/users/vocabulary', { words: [SHORT] });
  const device = {
    id: 'omi_m',
    name: SHORT,
    model: SHORT,
    source: 'omi',
    state: 'streaming',
    notes: [MARKUP],
  };
  await send('PUT', '/v1/bridges/attic', { name: SHORT, devices: [device] });
  const chat = await post('/v2/chat-sessions');
  await fetch(`${server.url}/v2/messages?chat_session_id=${chat.id}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ text: MARKUP }),
  }).then(answer => answer.text());
  return { id: String(id), photographed: await describedPhoto(await takePhoto(server.url, token)) };
}

/** A description by a model that has read markup in the photo. */
async function describedPhoto(id: string): Promise<string> {
  const { writer, close } = openSqlite(join(server.dataDir, 'earshot.db'), storageContext());
  await writer('photos').where({ id }).update({ description: MARKUP });
  const photo = await writer('photos').where({ id }).first();
  await close();
  return String(photo.conversation_id);
}

testInBrowser('markup in any writable field is shown as text, on every page', async t => {
  const caldav = await openCaldavServer({ name: MARKUP });
  t.teardown(caldav.close);
  const { id, photographed } = await writeMarkup();
  const { page, finish } = await open(t, DESK);
  await signIn(page, server, '/settings', { name: 'mara' });
  await page.locator('summary', { hasText: 'Connect a calendar' }).click();
  await page.getByLabel('Address of the CalDAV server').fill(caldav.url);
  await page.getByLabel('Account name there').fill('ada');
  await page.getByLabel('Password', { exact: true }).fill('secret');
  await page.getByRole('button', { name: 'Connect a calendar' }).click();
  await page.getByText('Tasks and appointments are written to the calendar').waitFor();
  for (const { path, open: opened = [], what, at } of WRITTEN) {
    await visit(page, path.replace('ID', id));
    for (const name of opened) {
      await page.locator('summary[aria-label=More]').click();
      await page.getByRole('button', { name }).click();
    }
    const place = page.locator(at, { hasText: '<img src=x' }).first();
    await t.notThrowsAsync(place.waitFor({ state: 'attached' }), `${path}: ${what}`);
    t.is(await page.locator('#main :is(img, script)').count(), 0, `${path}: ${what}`);
    t.not(await page.title(), 'owned', `${path}: ${what}`);
    if (opened.length > 0) await page.getByRole('button', { name: 'Close' }).click();
  }
  await visit(page, `/conversations/${photographed}`);
  await page.locator('.photos button').click();
  await page.locator('dialog p', { hasText: '<img src=x' }).waitFor();
  t.is(await page.locator('#main :is(img[src="x"], script)').count(), 0);
  await finish();
});
