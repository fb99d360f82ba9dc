import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import { buildDashboard } from '../../../config/setup/dashboard.mjs';
import { encodeWav, samplesToBytes } from '../../../core/audio/pcm.ts';
import { openSqlite } from '../../../plugins/storage/sql/sqlite.ts';
import { accountOf } from '../../helpers/accounts.ts';
import {
  DESK,
  findChromium,
  inaccessible,
  launch,
  openPage,
  PASSWORD,
  PHONE,
  signIn,
} from '../../helpers/browser.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen } from '../../helpers/listen-client.ts';
import { buildServer, countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, type Sound, silence, speech } from '../../helpers/sound.ts';
import { storageContext } from '../../helpers/storage.ts';
import { patient, profileRecording, voiceModelOptions } from '../../helpers/voices.ts';

/** `dashboard-browser.test.ts` fails if Chromium is missing where it is required. */
const testInBrowser = findChromium() === null ? test.skip : test.serial;
/** Generous, as a browser beside other work is slow. */
const PATIENCE_MS = 240_000;
const CONVERSATIONS = '/v1/dev/user/conversations';

let browser: Browser;
let server: TestServer;

if (findChromium() !== null) {
  test.before(async () => {
    buildDashboard(join(import.meta.dirname, '../../..'), { say() {} });
    [browser, server] = await Promise.all([launch(), buildServer(countingStt())]);
    await server.app.commands['user.password']({ user: 'owner', password: PASSWORD });
  });
  test.after.always(async () => {
    await browser?.close();
    await server?.stop();
  });
}

/** A page that is closed at the end of its test, which fails if the page had an error. */
async function open(t: ExecutionContext, viewport: { width: number; height: number }, path: string) {
  t.timeout(600_000);
  const { page, complaints } = await openPage(browser, viewport);
  page.setDefaultTimeout(PATIENCE_MS);
  await signIn(page, server, path);
  return {
    page,
    complaints,
    async finish() {
      t.deepEqual(complaints, []);
      await page.context().close();
    },
  };
}

/** The console logs each refusal with 409, and each unreachable server. */
function expectRefusals({ page, complaints }: { page: Page; complaints: string[] }): void {
  page.on('response', response => {
    if (response.status() === 409) complaints.length = 0;
  });
}

testInBrowser('live speech can be marked, and afterwards the marks link to their lines', async t => {
  const query = { codec: 'pcm16', sample_rate: 16_000, custom_stt: 'enabled', source: 'omi' };
  const device = await connectListen(server.url, server.key, query);
  t.teardown(() => device.socket.close());
  const say = async (text: string, start: number) => {
    const segment = { speaker: 'SPEAKER_01', speaker_id: 1, is_user: false, person_id: null };
    const segments = [{ ...segment, text, start, end: start + 2 }];
    device.socket.send(JSON.stringify({ type: 'suggested_transcript', segments, stt_provider: 'own' }));
    await device.until('segments', () => device.segments().some(each => each.text.includes(text)));
  };
  const phone = await open(t, PHONE, '/');
  const desk = await open(t, DESK, '/');
  await say('The code of the shed is four seven', 0);
  for (const { page } of [phone, desk]) await page.locator('.words p', { hasText: 'shed' }).waitFor();
  await phone.page.getByRole('button', { name: 'Remember this' }).click();
  await phone.page.getByText('Marked: this will be remembered').waitFor();
  for (const { page } of [phone, desk])
    await page.locator('.words p', { hasText: 'shed' }).getByText('marked').waitFor();
  t.deepEqual(await inaccessible(phone.page), []);

  await say('And now something quite different about the garden', 60);
  await desk.page.locator('.words li', { hasText: 'garden' }).waitFor();
  await desk.page.getByRole('button', { name: 'End conversation now' }).click();
  await desk.page.getByRole('link', { name: 'Open the conversation' }).click();
  const marked = desk.page.locator('.marks a');
  await marked.filter({ hasText: 'shed' }).click();
  await desk.page.locator('.segment[aria-current]', { hasText: 'shed' }).waitFor();
  await desk.page
    .locator('.segment', { hasText: 'garden' })
    .getByRole('button', { name: /^Mark to remember/ })
    .click();
  await marked.filter({ hasText: 'garden' }).waitFor();
  t.deepEqual(await inaccessible(desk.page), []);
  await desk.page
    .locator('.segment', { hasText: 'shed' })
    .getByRole('button', { name: /^Remove the mark/ })
    .click();
  await marked.filter({ hasText: 'shed' }).waitFor({ state: 'detached' });
  t.is(await marked.count(), 1);
  await phone.finish();
  await desk.finish();
});

testInBrowser('when two users change the same goal, no change is lost silently', async t => {
  const { post, get } = await accountOf(server, 'owner');
  const { id } = await post('/v1/dev/user/goals', { title: 'Read', target_value: 12, unit: 'books' });
  const path = `/v1/dev/user/goals/${id}`;
  const first = await open(t, DESK, '/goals');
  const second = await open(t, PHONE, '/goals');
  for (const each of [first, second]) {
    expectRefusals(each);
    await each.page.getByRole('button', { name: 'One more: Read' }).waitFor();
  }
  await first.page.getByRole('button', { name: 'One more: Read' }).click();
  await first.page.getByText('1 / 12 books').waitFor();
  await second.page.getByRole('button', { name: 'One more: Read' }).click();
  await second.page.getByText('2 / 12 books').waitFor();

  for (const { page } of [first, second]) await page.getByRole('button', { name: 'Edit: Read' }).click();
  await first.page.getByLabel('What do you want to reach?').fill('Read more');
  await first.page.getByRole('button', { name: 'Save' }).click();
  await first.page.locator('.goal', { hasText: 'Read more' }).waitFor();
  await second.page.getByLabel('Unit').fill('novels');
  await second.page.getByLabel('What do you want to reach?').fill('Read slowly');
  await second.page.getByRole('button', { name: 'Save' }).click();
  const theirs = second.page.locator('dialog .theirs');
  await theirs.filter({ hasText: 'Title: Read more' }).waitFor();
  await second.page.locator('dialog blockquote', { hasText: 'Unit: novels' }).waitFor();
  t.deepEqual(await inaccessible(second.page), []);
  t.like(await get(path), { title: 'Read more', unit: 'books' });
  await second.page.getByRole('button', { name: 'Save my version' }).click();
  await second.page.locator('.goal .row-body strong', { hasText: 'Read slowly' }).waitFor();
  t.like(await get(path), { title: 'Read slowly', unit: 'novels', current_value: 2, target_value: 12 });
  for (const { page } of [first, second]) await page.context().close();
});

testInBrowser('weekly pauses and the length of a pause are set on a page', async t => {
  const { get } = await accountOf(server, 'owner');
  const { page, finish } = await open(t, PHONE, '/settings');
  await page.getByRole('button', { name: 'Add a weekly pause' }).click();
  const pause = page.getByRole('group', { name: 'Weekly pause 1' });
  await pause.getByLabel('Sat').uncheck();
  await pause.getByLabel('Sun').uncheck();
  await pause.getByLabel('From').fill('21:30');
  await pause.getByLabel('To', { exact: true }).fill('06:15');
  t.deepEqual(await inaccessible(page), []);
  await page.getByRole('button', { name: 'Save the schedule' }).click();
  await page.getByText('Saved').waitFor();
  const days = ['mon', 'tue', 'wed', 'thu', 'fri'];
  t.like(await get('/v1/users/listening'), { schedule: [{ days, from: '21:30', to: '06:15' }] });
  await page.reload();
  t.is(await pause.getByLabel('From').inputValue(), '21:30');

  await page.getByLabel('Pause for').selectOption({ label: 'until I end it' });
  await page.getByRole('button', { name: 'Pause listening' }).click();
  await page.getByText('Listening is paused', { exact: true }).waitFor();
  t.like(await get('/v1/users/listening'), { paused: true, cause: 'asked' });
  await page.getByRole('button', { name: 'Resume listening' }).click();
  await page.getByText('Earshot is listening').waitFor();

  await pause.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Save the schedule' }).click();
  await page.getByText('Saved').waitFor();
  t.like(await get('/v1/users/listening'), { schedule: [] });
  const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  t.false(isWider);
  await finish();
});

testInBrowser('retention rules are saved after a preview of their effect', async t => {
  const { post, get } = await accountOf(server, 'owner');
  const folder = await post('/v1/folders', { name: 'Garden' });
  const old = {
    transcript_segments: [{ text: 'We plant tulips', start: 0, end: 2 }],
    started_at: '2020-05-01T09:00:00Z',
  };
  const { id } = await post(`${CONVERSATIONS}/from-segments`, old);
  const { page, finish } = await open(t, PHONE, '/settings');
  await page.getByText('Nothing is deleted because of its age.').waitFor();
  await page.getByRole('button', { name: 'Add a rule' }).click();
  const rule = page.getByRole('group', { name: 'Rule 1' });
  await rule.getByLabel('Days').fill('30');
  t.is(await page.getByRole('button', { name: 'Save these rules' }).count(), 0);
  await page.getByRole('button', { name: 'Show what would be deleted' }).click();
  await page.getByText('These rules would delete now:').waitFor();
  await page.getByText('Conversations: 1').waitFor();
  await page.locator(`.preview a[href="/conversations/${id}"]`).waitFor();
  t.deepEqual(await inaccessible(page), []);

  await rule.getByLabel('Folder').selectOption({ label: 'Garden' });
  t.is(
    await page.getByRole('button', { name: 'Save these rules' }).count(),
    0,
    'the numbers were of other rules',
  );
  await page.getByRole('button', { name: 'Show what would be deleted' }).click();
  await page.getByText('These rules would delete nothing now.').waitFor();
  await page.getByRole('button', { name: 'Save these rules' }).click();
  await page.getByText('Saved').waitFor();
  t.deepEqual(await get('/v1/users/retention'), {
    keep_starred: true,
    rules: [{ data: 'conversations', folder_id: folder.id, days: 30 }],
  } as never);
  await page.reload();
  t.is(await rule.getByLabel('Days').inputValue(), '30');
  t.is(await rule.getByLabel('Folder').inputValue(), String(folder.id));
  const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  t.false(isWider);
  await finish();
});

testInBrowser(
  'without the server every kind of edit fails with a message, and unsaved input stays',
  async t => {
    const { post } = await accountOf(server, 'owner');
    const said = { transcript_segments: [{ text: 'The ferry leaves at nine', start: 0, end: 2 }] };
    const { id } = await post(`${CONVERSATIONS}/from-segments`, said);
    await post('/v1/dev/user/memories', { content: 'Likes ferries' });
    await post('/v1/dev/user/action-items', { description: 'Book the ferry' });
    await post('/v1/dev/user/goals', { title: 'Sail', goal_type: 'boolean' });
    await post('/v1/people', { name: 'Ole' });
    const { page } = await open(t, DESK, '/');
    const typed = 'Typed while the server was away';
    const away = (isAway: boolean) => page.context().setOffline(isAway);

    /** Opens the dialog, types and saves without the server; the input is stored once the server is back. */
    async function refused(path: string, edit: string | RegExp, field: string, shown: string): Promise<void> {
      await away(false);
      await page.goto(server.url + path);
      await page.getByRole('button', { name: edit }).first().click();
      const input = page.locator('dialog').getByLabel(field, { exact: true });
      await input.fill(typed);
      await away(true);
      await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
      await page.locator('dialog .problem', { hasText: 'The server cannot be reached' }).waitFor();
      t.is(await input.inputValue(), typed, `${path} ${field}`);
      await away(false);
      await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
      await page.locator(shown, { hasText: typed }).first().waitFor();
    }
    await refused(`/conversations/${id}`, 'Edit title', 'Title', 'h1');
    await refused(`/conversations/${id}`, /^Edit text/, 'Text', '.segment');
    await refused('/memories', 'Edit: Likes ferries', 'Memory', '.row');
    await refused('/tasks', 'Edit: Book the ferry', 'What needs to be done?', '.row');
    await refused('/goals', 'Edit: Sail', 'What do you want to reach?', '.row');
    await refused('/people', 'Edit: Ole', 'Name', '.row');

    const unreachable = page.locator('.toast', { hasText: 'The server cannot be reached' });
    await page.goto(`${server.url}/tasks`);
    const box = page.getByLabel(`Mark as done: ${typed}`);
    await box.waitFor();
    await away(true);
    await box.click();
    await unreachable.waitFor();
    t.false(await box.isChecked());
    await page.getByLabel('What needs to be done?').first().fill('Buy rope');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    t.is(await page.getByLabel('What needs to be done?').first().inputValue(), 'Buy rope');

    await away(false);
    await page.goto(`${server.url}/people`);
    await page.getByRole('button', { name: `Delete: ${typed}` }).click();
    await page.locator('.row', { hasText: typed }).waitFor({ state: 'detached' });
    await away(true);
    await page.locator('.row', { hasText: typed }).waitFor(); // it could not be deleted
    await unreachable.waitFor();
    await page.context().close();
  },
);

testInBrowser('a conversation shows its place and the known people who spoke', async t => {
  const { post } = await accountOf(server, 'owner');
  const eve = await post('/v1/people', { name: 'Eve <b>' });
  const segments = [
    { text: 'Shall we go in?', start: 0, end: 2, person_id: eve.id },
    { text: 'Yes, please.', start: 3, end: 4, speaker: 'SPEAKER_01' },
    { text: 'After you.', start: 5, end: 6, person_id: eve.id },
  ];
  const place = { latitude: 53.5503, longitude: 10.0006, address: '1 Harbour <i>Road' };
  const path = `${CONVERSATIONS}/from-segments`;
  const { id } = await post(path, { transcript_segments: segments, geolocation: place });
  const { id: bare } = await post(path, {
    transcript_segments: segments.slice(1, 2),
    geolocation: { latitude: 53.5503, longitude: 10.0006 },
  });
  const { page, finish } = await open(t, PHONE, `/conversations/${id}`);
  await page.locator('.meta', { hasText: '1 Harbour <i>Road' }).waitFor();
  const people = page.getByRole('list', { name: 'People' });
  t.deepEqual(await people.getByRole('listitem').allTextContents(), ['Eve <b>']);
  t.deepEqual(await inaccessible(page), []);
  await page.goto(`${server.url}/conversations/${bare}`);
  await page.locator('.meta', { hasText: '53.550, 10.001' }).waitFor();
  t.is(await people.count(), 0);
  await finish();
});

testInBrowser('places are named, filter conversations, and are chosen for one', async t => {
  const { post, get } = await accountOf(server, 'owner');
  const where = { latitude: 60.1699, longitude: 24.9384, address: 'Mannerheimintie 13' };
  const talk = async (text: string, more: object = {}) =>
    post(`${CONVERSATIONS}/from-segments`, { transcript_segments: [{ text, start: 0, end: 2 }], ...more });
  const { id } = await talk('The tram to the harbour is late', { geolocation: where });
  const { id: placeless } = await talk('The sauna is hot at six');
  await eventually(async () => (await get(`${CONVERSATIONS}/${placeless}`)).status === 'completed');
  await eventually(async () => (await get(`${CONVERSATIONS}/${id}`)).status === 'completed');

  const { page, finish } = await open(t, PHONE, '/places');
  const row = page.locator('.row', { hasText: 'Mannerheimintie 13' });
  await row.getByText('1 conversation', { exact: true }).waitFor();
  t.regex(
    (await row.getByRole('link', { name: 'Map' }).getAttribute('href')) ?? '',
    /^https:\/\/www\.openstreetmap\.org\/\?mlat=60\.1699&mlon=24\.9384/,
  );
  await row.getByRole('button', { name: 'Give it a name: Mannerheimintie 13' }).click();
  await page.locator('dialog').getByLabel('Name').fill('Library');
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await page.locator('.row strong', { hasText: 'Library' }).waitFor();
  await page.getByLabel('New place').fill('Sauna');
  await page.getByLabel('Latitude, longitude').fill('61.4978, 23.7610');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const sauna = page.locator('.row', { hasText: 'Sauna' });
  await sauna.getByText('no conversations').waitFor();
  t.deepEqual(await inaccessible(page), []);

  await row.getByRole('link', { name: '1 conversation' }).click();
  await page.locator('.virtual a.row', { hasText: /tram/i }).waitFor();
  t.is(await page.locator('.virtual a.row').count(), 1);
  const filter = page.getByLabel('Any place');
  t.is(await filter.locator('option:checked').textContent(), 'Library');
  await page.locator('.virtual a.row').click();
  await page.locator('.meta', { hasText: 'Library' }).waitFor();

  await page.goto(`${server.url}/conversations/${placeless}`);
  await page.locator('summary[aria-label=More]').click();
  await page.getByRole('button', { name: 'Place' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Sauna' }).click();
  await page.locator('.meta', { hasText: 'Sauna' }).waitFor();
  await page.goto(`${server.url}/places`);
  await sauna.getByText('1 conversation', { exact: true }).waitFor();
  await sauna.getByRole('button', { name: 'Delete: Sauna' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await sauna.waitFor();
  await finish();
});

testInBrowser('back from a conversation, the list has its filter and its position', async t => {
  const { post, get } = await accountOf(server, 'owner');
  const { id: person } = await post('/v1/people', { name: 'Signe' });
  const many = 110;
  for (let number = 0; number < many; number += 1) {
    const said = `Signe tells ${number}. ${'It was a long way. '.repeat(number % 5)}`;
    const segments = [{ text: said, start: 0, end: 2, person_id: person }];
    const started_at = new Date(Date.UTC(2024, 0, 1 + number)).toISOString();
    await post(`${CONVERSATIONS}/from-segments`, { transcript_segments: segments, started_at });
  }
  await eventually(async () => {
    const found = await get(`${CONVERSATIONS}?person_id=${person}&limit=200`);
    return (found as unknown as unknown[]).length === many;
  });
  const { page, finish } = await open(t, PHONE, '/conversations');
  await page.getByLabel('Any person').selectOption({ label: 'Signe' });
  const rows = page.locator('.virtual a.row', { hasText: 'Signe tells' });
  await rows.first().waitFor();
  const top = () => page.evaluate("document.getElementById('main').scrollTop").then(Number);
  for (let step = 0; step < 26; step += 1) {
    await page.evaluate("document.getElementById('main').scrollBy(0, 400)");
    await rows.first().waitFor();
  }
  // Rows that are loaded or measured late move those below them.
  const twoFrames = 'new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))';
  let scrolled = 0;
  await eventually(async () => {
    scrolled = await top();
    await page.evaluate(twoFrames);
    return (await page.locator('.virtual .skeleton').count()) === 0 && (await top()) === scrolled;
  });
  t.true(scrolled > 9000, 'further than one page of the list');
  const inView = () =>
    page.evaluate(`[...document.querySelectorAll('.virtual a.row')]
      .filter(row => row.getBoundingClientRect().top > 100)[0].getAttribute('href')`);
  const shown = String(await inView());
  for (const back of ['link', 'browser'] as const) {
    await page.locator(`.virtual a.row[href="${shown}"]`).click();
    await page.locator('.segment').first().waitFor();
    if (back === 'link') await page.locator('a.back').click();
    else await page.goBack();
    await page.locator(`.virtual a.row[href="${shown}"]`).waitFor();
    t.is(await page.getByLabel('Any person').locator('option:checked').textContent(), 'Signe', back);
    await eventually(async () => Math.abs((await top()) - scrolled) < 5);
    t.is(String(await inView()), shown, back);
  }
  await page.reload();
  await rows.first().waitFor();
  t.is(await page.getByLabel('Any person').locator('option:checked').textContent(), 'Signe');
  await page.getByLabel('Any person').selectOption('');
  t.is(new URL(page.url()).search, '');
  await finish();
});

testInBrowser('a recording of a person becomes a voice sample, or is refused with the reason', async t => {
  t.timeout(600_000);
  const { stt, plugins } = countingStt();
  const speakers = { 'sherpa-speakers': await voiceModelOptions(t) };
  const overrides = { stt, speakers: ['sherpa-speakers'], plugins: { ...plugins, ...speakers } };
  const listening = await openServer(t, overrides, { clock: patient });
  await listening.app.commands['user.password']({ user: 'owner', password: PASSWORD });
  const { post, get, send } = await accountOf(listening, 'owner');
  await send('PATCH', '/v1/users/speech-settings', { keep_audio_days: 7 });
  const { id: signe } = await post('/v1/people', { name: 'Signe' });
  const query = { codec: 'pcm16', sample_rate: 16_000, source: 'omi' };
  const device = await connectListen(listening.url, listening.key, query);
  device.socket.send(samplesToBytes(joined(profileRecording('rms'), silence(2))));
  const { conversation_id: id } = await device.until('conversation_session');
  await device.until('segments', () => device.segments().length > 0);
  device.socket.close();
  await device.closed;
  await eventually(async () => {
    await post(`/v1/conversations/${id}/speakers/${device.segments()[0]?.speaker_id}`, { person_id: signe });
    return ((await get(`/v1/people/${signe}/samples`)) as unknown as unknown[]).length === 1;
  });

  const { page, complaints } = await openPage(browser, PHONE);
  page.setDefaultTimeout(PATIENCE_MS);
  await signIn(page, listening, '/people');
  await page.getByRole('button', { name: 'Details: Signe' }).click();
  const dialog = page.getByRole('dialog', { name: 'Signe' });
  const samples = dialog.locator('.versions li');
  await samples.getByRole('link', { name: 'From a conversation' }).waitFor();
  await samples.getByRole('button', { name: /^Listen: / }).click();
  await dialog.locator('.player audio').waitFor();
  t.deepEqual(await inaccessible(page), []);

  const wav = (sound: Sound) => ({
    ...{ name: 'signe.wav', mimeType: 'audio/wav' },
    buffer: Buffer.from(encodeWav(sound)),
  });
  const file = dialog.getByLabel('Upload a recording of at least 8 s in which only Signe speaks');
  await file.setInputFiles(wav(silence(12)));
  await dialog.locator('.problem', { hasText: 'Too quiet' }).waitFor();
  complaints.length = 0; // the refusal
  await file.setInputFiles(wav(profileRecording('slt')));
  await samples.filter({ hasText: 'recording' }).waitFor();
  t.is(await dialog.locator('.problem').textContent(), '');
  await samples
    .filter({ hasText: 'recording' })
    .getByRole('button', { name: /^Delete/ })
    .click();
  await samples.filter({ hasText: 'recording' }).waitFor({ state: 'detached' });
  t.is(await samples.count(), 1);
  t.deepEqual(complaints, []);
  await page.context().close();
});

/** Returns the token. */
async function signInAsProgram(userAgent: string): Promise<string> {
  const answer = await fetch(`${server.url}/v1/auth/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'User-Agent': userAgent },
    body: JSON.stringify({ name: 'owner', password: PASSWORD }),
  });
  return ((await answer.json()) as { token: string }).token;
}

testInBrowser('devices that are signed in are listed, and signed out from another one', async t => {
  const phone = await open(t, PHONE, '/tasks');
  const desk = await open(t, DESK, '/settings');
  const token = await signInAsProgram('sensor-logger/3 <b>');
  const { page } = desk;
  await page.reload();
  const section = page.locator('section', { hasText: 'Signed-in devices' });
  const own = section.locator('li', { hasText: 'this browser' });
  await own.filter({ hasText: 'Chrome on Linux' }).waitFor();
  t.is(await own.count(), 1);
  t.is(await own.getByRole('button').count(), 0);
  await section.locator('li', { hasText: 'sensor-logger/3 <b>' }).filter({ hasText: 'program' }).waitFor();
  t.deepEqual(await inaccessible(page), []);

  const before = await section.locator('li').count();
  await section.getByRole('button', { name: 'Sign out: sensor-logger/3 <b>' }).click();
  await page.getByText('Signed out', { exact: true }).waitFor();
  await section.locator('li', { hasText: 'sensor-logger' }).waitFor({ state: 'detached' });
  t.is(await section.locator('li').count(), before - 1);
  const refused = await fetch(`${server.url}/v1/accounts`, { headers: { Authorization: `Bearer ${token}` } });
  t.is(refused.status, 401);

  // Typed before the session ends: the dialog may open at any time after it, and then gets what is typed.
  await phone.page.getByLabel('What needs to be done?').first().fill('Call back');
  await section.getByRole('button', { name: 'Sign out all others' }).click();
  await section.locator('li').nth(1).waitFor({ state: 'detached' });
  t.is(await section.locator('li').count(), 1);
  await desk.finish();

  // Where another request was refused first, the dialog is there already, and the click waits until it is closed.
  const added = phone.page.getByRole('button', { name: 'Add', exact: true }).click();
  await signInAgain(phone.page);
  await added;
  await phone.page.locator('.task', { hasText: 'Call back' }).waitFor();
  await phone.page.context().close();
});

async function signInAgain(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Password').fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
}

testInBrowser('a refusal of the old session that arrives late does not end the new one', async t => {
  const { page } = await open(t, PHONE, '/tasks');
  const dialog = page.getByRole('dialog');
  const [list, session, refusal, refused] = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  await page.route(/completed=true/, async route => {
    await list?.promise;
    await route.continue();
  });
  const asked = page.waitForRequest(/completed=true/);
  await page.getByRole('button', { name: 'Done', exact: true }).click();
  await asked;
  const headers = { Authorization: `Bearer ${await signInAsProgram('a program')}` };
  await fetch(`${server.url}/v1/auth/sessions`, { method: 'DELETE', headers }); // all others
  await dialog.waitFor();

  await page.route('**/v1/auth/session', async route => {
    await session?.promise;
    await route.continue();
  });
  await page.route('**/v1/auth/session/token', async route => {
    const response = await route.fetch();
    refused?.resolve();
    await refusal?.promise;
    await route.fulfill({ response });
  });
  const begun = page.waitForRequest('**/v1/auth/session');
  await signInAgain(page);
  await begun;
  list?.resolve();
  await refused?.promise;
  session?.resolve();
  await dialog.waitFor({ state: 'detached' });
  refusal?.resolve();
  await page.locator('.empty, .task.done').first().waitFor();
  t.is(await dialog.count(), 0);
  await page.context().close();
});

testInBrowser('an operator changes the options of a plugin, and takes them back', async t => {
  await server.app.commands['user.role']({ user: 'owner', role: 'operator' });
  const { page, complaints, finish } = await open(t, PHONE, '/system');
  await page.getByText('Options: counting', { exact: true }).click();
  const form = page.locator('.plugin-options').filter({ has: page.locator('[name=languages]') });
  const languages = form.getByLabel('languages', { exact: true });
  t.is(await languages.inputValue(), 'en');

  await form.getByLabel('msPerSecond', { exact: true }).fill('fast');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('plugins.counting.msPerSecond must be a number').waitFor();
  await form.getByLabel('msPerSecond', { exact: true }).fill('0');

  await languages.fill('de\nfr');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('Set on this page').waitFor();
  t.is(await languages.inputValue(), 'de\nfr');
  t.deepEqual(await inaccessible(page), []);

  await form.getByRole('button', { name: 'Reset: languages' }).click();
  await form.getByText('Set on this page').waitFor({ state: 'detached' });
  t.is(await languages.inputValue(), 'en');
  t.deepEqual(
    complaints.splice(0).filter(complaint => !complaint.includes('status of 422')),
    [],
  );
  await finish();
});

testInBrowser(
  'webhooks are added, tried, changed, paused and deleted, and their secret is replaced',
  async t => {
    const { page, finish } = await open(t, PHONE, '/connections');
    const section = page.locator('section', { hasText: 'Webhooks' });
    await page.getByText('There are no webhooks.').waitFor();
    await page.getByRole('button', { name: 'New webhook' }).click();
    const dialog = page.locator('dialog');
    await dialog.getByLabel('Address').fill('https://hooks.invalid/<b>in');
    t.deepEqual(await inaccessible(page), []);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('.secret', { hasText: /^whsec_/ }).waitFor();
    const first = await dialog.locator('.secret').textContent();
    await dialog.getByRole('button', { name: 'Close' }).click();
    const row = section.locator('li', { hasText: 'hooks.invalid/<b>in' });
    await row.getByRole('button', { name: /^Test/ }).click();
    await row.locator('[role=status] .late').waitFor();
    await row.getByRole('button', { name: /^Pause/ }).click();
    await row.getByText('paused').waitFor();
    await page.getByRole('button', { name: 'New webhook' }).click();
    t.is(
      await dialog.getByLabel('When').inputValue(),
      'transcript_processed',
      'the first that is not there yet',
    );
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await row.getByRole('button', { name: /^Edit/ }).click();
    t.is(await dialog.getByLabel('When').inputValue(), 'memory_created');
    await dialog.getByLabel('When').selectOption({ label: 'the day is over' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.filter({ hasText: 'the day is over' }).waitFor();
    await row.getByRole('button', { name: /^Edit/ }).click();
    t.is(await dialog.getByLabel('When').inputValue(), 'day_summary');
    await dialog.getByLabel('When').selectOption({ label: 'the day is over' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.filter({ hasText: 'the day is over' }).getByText('paused').waitFor();
    await row.getByRole('button', { name: /^Resume/ }).click();
    await row.getByRole('button', { name: /^Pause/ }).waitFor();
    await section.getByRole('button', { name: 'Replace the secret' }).click();
    await dialog.getByRole('button', { name: 'Replace the secret' }).click();
    await dialog.locator('.secret').waitFor();
    t.not(await dialog.locator('.secret').textContent(), first);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await section.getByText(/also signed with the previous secret/).waitFor();
    t.deepEqual(await inaccessible(page), []);
    await row.getByRole('button', { name: /^Delete/ }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await row.waitFor();
    const gone = page.waitForResponse(answer => answer.request().method() === 'DELETE');
    await row.getByRole('button', { name: /^Delete/ }).click();
    await page.getByRole('link', { name: 'Now' }).click();
    await page.evaluate("dispatchEvent(new Event('pagehide'))");
    t.is((await gone).status(), 204);
    await finish();
  },
);

testInBrowser('a task, a memory and an appointment lead to the line where they were said', async t => {
  const { post, get } = await accountOf(server, 'owner');
  const filler = (index: number) => ({
    text: `The weather stays as it is, number ${index}.`,
    start: index * 10,
    end: index * 10 + 5,
    speaker: 'SPEAKER_01',
  });
  const said = [
    'I will send Nora the contract on Friday.',
    'My sister Nora lives in Lisbon.',
    'The dentist appointment is on December 4 at 3 pm.',
  ];
  const segments = [
    ...Array.from({ length: 40 }, (_, index) => filler(index)),
    ...said.map((text, index) => ({ text, start: 500 + index * 10, end: 505 + index * 10, is_user: true })),
    ...Array.from({ length: 40 }, (_, index) => filler(60 + index)),
  ];
  const { id } = await post(`${CONVERSATIONS}/from-segments`, { transcript_segments: segments });
  const isDone = () => get(`${CONVERSATIONS}/${id}`).then(({ status }) => status === 'completed');
  await eventually(isDone);
  const { page, finish } = await open(t, PHONE, '/tasks');
  const highlighted = page.locator('.segment[aria-current]');
  const task = page.locator('.task', { hasText: 'contract' });
  await task.getByRole('link', { name: 'Where it was said' }).click();
  await highlighted.filter({ hasText: 'contract' }).waitFor();
  t.true(await highlighted.isVisible());
  await page.goto(`${server.url}/memories`);
  await page.locator('.row', { hasText: 'Lisbon' }).getByRole('link', { name: 'Where it was said' }).click();
  await highlighted.filter({ hasText: 'Lisbon' }).waitFor();
  const event = page.locator('section', { has: page.getByRole('heading', { name: 'Appointments' }) });
  await event.getByRole('link', { name: 'Where it was said' }).click();
  await highlighted.filter({ hasText: 'dentist' }).waitFor();
  t.deepEqual(await inaccessible(page), []);

  await page
    .locator('.segment', { hasText: 'dentist' })
    .getByRole('button', { name: /^Mark to remember/ })
    .click();
  await page.locator('.marks a', { hasText: 'dentist' }).waitFor();
  await page.locator('summary[aria-label="Export"]').click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Markdown' }).click(),
  ]);
  const written = await readFile(await file.path(), 'utf8');
  t.regex(written, /## Marks\n\n- [^\n]*dentist/);
  t.regex(written, /★ [^\n]*dentist/);
  await finish();
});

testInBrowser(
  'a ticked box stays ticked while the old list is loaded again, until the change is stored',
  async t => {
    const { post, get } = await accountOf(server, 'owner');
    const { id } = await post('/v1/dev/user/action-items', { description: 'Water the plants' });
    const { page, complaints } = await open(t, PHONE, '/tasks');
    const patched = Promise.withResolvers<void>();
    let answer: 'stored' | 'failed' = 'failed';
    await page.route(`**/v1/dev/user/action-items/${id}`, async route => {
      await patched.promise;
      if (answer === 'failed') await route.fulfill({ status: 500, json: { detail: 'The disk is full' } });
      else await route.continue();
    });
    const box = page.getByRole('checkbox', { name: 'Mark as done: Water the plants' });
    await box.check();
    await post('/v1/dev/user/action-items', { description: 'Feed the cat' });
    await page.locator('.task', { hasText: 'Feed the cat' }).waitFor();
    t.true(await box.isChecked());
    patched.resolve();
    await page.getByText('The disk is full').waitFor();
    await eventually(async () => !(await box.isChecked()));

    answer = 'stored';
    await box.check();
    await page.locator('.task', { hasText: 'Water the plants' }).waitFor({ state: 'detached' });
    t.true((await get(`/v1/dev/user/action-items/${id}`)).completed);
    t.deepEqual(
      complaints.filter(text => !/status of 500/.test(text)),
      [],
    );
    await page.context().close();
  },
);

testInBrowser('the export of another product is tried, imported and undone', async t => {
  const { page, complaints, finish } = await open(t, PHONE, '/settings');
  await page.getByRole('button', { name: 'Import from another product' }).click();
  const dialog = page.locator('dialog');
  await dialog.getByText('Nothing has been imported yet.').waitFor();
  const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
  await dialog.getByLabel('File').setInputFiles(file('talk.unknown', 'nothing'));
  await dialog.getByRole('button', { name: 'Try it' }).click();
  await dialog.locator('.problem', { hasText: /\S/ }).waitFor();
  t.true(await dialog.getByRole('button', { name: 'Import', exact: true }).isDisabled());
  complaints.length = 0; // the refusal

  const subtitles = '1\n00:00:01,000 --> 00:00:02,000\nAnna: The kettle <b>is on.\n';
  await dialog.getByLabel('File').setInputFiles(file('talk.srt', subtitles));
  await dialog.getByRole('button', { name: 'Try it' }).click();
  await dialog.getByText('Recognised as subtitles').waitFor();
  await dialog.locator('[role=status]', { hasText: 'Conversations: 1' }).waitFor();
  t.deepEqual(await inaccessible(page), []);
  await dialog.getByRole('button', { name: 'Import', exact: true }).click();
  await dialog.locator('li', { hasText: 'talk.srt' }).getByText('done').waitFor();
  await dialog.getByRole('button', { name: 'Undo: talk.srt' }).click();
  await dialog.locator('li', { hasText: 'talk.srt' }).getByText('undone').waitFor();
  t.deepEqual(await inaccessible(page), []);
  await finish();
});

testInBrowser('the import of a whole account is listed without a button that undoes it', async t => {
  const { writer, close } = openSqlite(join(server.dataDir, 'earshot.db'), storageContext());
  const { id } = await writer('users').where({ name: 'owner' }).first();
  const run = { user_id: id, state: 'done', counts: '{}', started_at: 1, ended_at: 2 };
  await writer('foreign_imports').insert([
    { ...run, id: 'whole', format: 'Earshot', name: 'owner.zip' },
    { ...run, id: 'other', format: 'Omi', name: 'omi.zip' },
  ]);
  await close();
  const { page, finish } = await open(t, PHONE, '/settings');
  await page.getByRole('button', { name: 'Import from another product' }).click();
  const listed = page.locator('dialog li');
  await listed.filter({ hasText: 'omi.zip' }).getByRole('button', { name: 'Undo: omi.zip' }).waitFor();
  await listed.filter({ hasText: 'owner.zip' }).waitFor();
  t.is(await listed.filter({ hasText: 'owner.zip' }).getByRole('button').count(), 0);
  await finish();
});

testInBrowser('a wearable is paired: a key, one command, and a name once it is there', async t => {
  const { page, finish } = await open(t, PHONE, '/connections');
  await page.getByRole('button', { name: 'Pair a wearable' }).click();
  const dialog = page.getByRole('dialog', { name: 'Pair a wearable' });
  await dialog.getByText('Waiting for a wearable').waitFor();
  await dialog.getByRole('button', { name: 'Create a key and show the command' }).click();
  const command = await dialog.getByText('EARSHOT_BRIDGE__KEY').textContent();
  const [, key = '', core = ''] =
    /^EARSHOT_BRIDGE__KEY=(\S+) npx earshot-bridge --core (\S+)$/.exec(command ?? '') ?? [];
  t.is(core, server.url.replace('http', 'ws'));
  t.deepEqual(await inaccessible(page), []);

  const wearable = { id: 'omi_new', name: 'Omi 1234', state: 'quiet' };
  const told = await fetch(`${server.url}/v1/bridges/kitchen`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'Kitchen', devices: [wearable] }),
  });
  t.is(told.status, 200, await told.text());

  await dialog.getByText('Omi 1234 is connected').waitFor();
  await dialog.getByLabel('Name').fill('My pendant');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('My pendant', { exact: true }).waitFor();
  await finish();
});

testInBrowser('speech without text is listed in its conversation, and played', async t => {
  // Its own device, as it would continue an earlier test's conversation otherwise.
  const query = { codec: 'pcm16', sample_rate: 16_000, client_device_id: 'walk', stream: 'walk' };
  const device = await connectListen(server.url, server.key, query);
  const said = speech('budget');
  device.socket.send(samplesToBytes(joined(said, silence(2))));
  const { conversation_id: id } = await device.until('conversation_session');
  await device.until('segments', () => device.segments().length > 0);
  device.socket.close();
  await device.closed;
  const { writer, close } = openSqlite(join(server.dataDir, 'earshot.db'), storageContext());
  const stream = await writer('streams').where({ conversation_id: id }).first();
  await close();
  const folder = join(server.dataDir, 'untranscribed');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${stream.id}-0.wav`), encodeWav(said));

  const { page, finish } = await open(t, PHONE, `/conversations/${id}`);
  await page.getByRole('heading', { name: 'Speech without text' }).waitFor();
  t.deepEqual(await inaccessible(page), []);
  await page.getByRole('button', { name: /^Listen: / }).press('Enter');
  await page.locator('audio').waitFor();
  const seconds = await page.evaluate(`new Promise((done, fail) => {
    const audio = document.querySelector('audio');
    audio.addEventListener('error', () => fail(audio.error));
    if (audio.readyState > 0) done(audio.duration);
    else audio.addEventListener('loadedmetadata', () => done(audio.duration));
  })`);
  t.true(Math.abs(Number(seconds) - said.length / 16_000) < 0.1);
  await finish();
});

testInBrowser('audio is kept on demand, and played from a line of the transcript on', async t => {
  const { get } = await accountOf(server, 'owner');
  const { page, finish } = await open(t, PHONE, '/settings');
  await page.getByLabel(/^Keep the audio/).check();
  await page.getByLabel('Days', { exact: true }).fill('7');
  await page
    .locator('form', { has: page.getByLabel('Days', { exact: true }) })
    .getByRole('button', { name: 'Save' })
    .click();
  await eventually(async () => (await get('/v1/users/speech-settings')).keep_audio_days === 7);
  t.deepEqual(await inaccessible(page), []);

  // Its own device, as it would continue an earlier test's conversation otherwise.
  const query = { codec: 'pcm16', sample_rate: 16_000, client_device_id: 'kept', stream: 'kept' };
  const device = await connectListen(server.url, server.key, query);
  device.socket.send(samplesToBytes(joined(speech('budget'), silence(2), speech('tomorrow'), silence(2))));
  const { conversation_id: id } = await device.until('conversation_session');
  await device.until('segments', () => device.segments()[0]?.text.endsWith('70 tenths') === true);
  device.socket.close();
  await device.closed;

  await page.goto(`${server.url}/conversations/${id}`);
  await page.getByRole('button', { name: /^Play from here: / }).click();
  await page.locator('.player audio').waitFor();
  const next = await page.evaluate(`new Promise((done, fail) => {
    const audio = document.querySelector('.player audio');
    audio.addEventListener('error', () => fail(audio.error));
    let isSkipped = false;
    audio.addEventListener('timeupdate', () => {
      if (isSkipped || audio.currentTime < 0.2) return;
      isSkipped = true;
      audio.currentTime = audio.duration - 0.1;
    });
    audio.addEventListener('ended', () => setInterval(() => {
      const other = document.querySelector('.player audio');
      if (other && other !== audio && other.currentTime > 0.2) done(other.src !== audio.src);
    }, 50));
  })`);
  t.true(next, 'the next clip follows');
  t.is(await page.locator('.segment.played').count(), 1);
  t.deepEqual(await inaccessible(page), []);
  await page.locator('.player').getByRole('button', { name: 'Close' }).click();
  await page.locator('.player').waitFor({ state: 'detached' });
  await finish();
});
