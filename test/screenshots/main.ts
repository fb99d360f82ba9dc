/**
 * Takes pictures of every page of the dashboard, light and dark, on a phone and a desktop, of a full and an
 * empty account: `npm run screenshots [FOLDER]`. With `--whole` each picture is as long as its page, with
 * `--german` the page is in German. With `--readme` those in the README are written to `docs/images/`, too.
 */
import { copyFile, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { buildDashboard } from '../../config/setup/dashboard.mjs';
import { de } from '../../plugins/page/dashboard/app/texts-de.ts';
import { en } from '../../plugins/page/dashboard/app/texts-en.ts';
import { accountOf } from '../helpers/accounts.ts';
import { DESK, launch, openPage, PASSWORD, PHONE, settled, signIn } from '../helpers/browser.ts';
import { fillHome } from '../helpers/home.ts';
import { connectListen } from '../helpers/listen-client.ts';
import { buildServer, countingStt } from '../helpers/services.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const folder = process.argv.slice(2).find(given => !given.startsWith('--'));
const isWhole = process.argv.includes('--whole');
/** Text of the page that is awaited before the picture. */
const TEXTS = process.argv.includes('--german') ? de : en;
const LOCALE = TEXTS === de ? 'de-DE' : 'en-GB';
/** Pixels of the longest picture. */
const LONGEST = 3000;
const into = resolve(folder ?? join(ROOT, 'dist', 'screenshots'));
/** Pictures of the README. */
const SHOWN = ['now-phone-light', 'conversation-phone-light', 'answer-phone-dark'];
const PAGES = [
  ...['conversations', 'tasks', 'memories', 'ask', 'more', 'connections', 'notifications', 'settings'],
  ...['system', 'people', 'places', 'goals', 'statistics'],
];
const SAID = [
  'Welcome back. How was the train?',
  'Late as ever, but I had a seat by the window and finished the book.',
  'Then you can tell me how it ends. Shall we eat outside?',
];

buildDashboard(ROOT, { say: console.error });
await mkdir(into, { recursive: true });
const server = await buildServer(countingStt());
const browser = await launch();
try {
  const welcome = await server.app.welcomeUrl();
  const { page: first } = await openPage(browser, PHONE, { locale: LOCALE });
  await first.goto(welcome ?? server.url);
  await first.getByRole('button', { name: TEXTS.begin }).waitFor();
  await shoot(first, 'welcome-phone');
  await server.app.commands['user.password']({ user: 'owner', password: PASSWORD });
  await server.app.commands['user.role']({ user: 'owner', role: 'operator' });
  await server.app.commands['user.add']({ name: 'nina' });
  await server.app.commands['user.password']({ user: 'nina', password: PASSWORD });
  await fillHome(server);
  await fillPeopleAndGoals();

  const query = { codec: 'pcm16', sample_rate: 16_000, custom_stt: 'enabled', source: 'omi' };
  const device = await connectListen(server.url, server.key, query);
  for (const [index, text] of SAID.entries()) {
    const speaker = { speaker: `SPEAKER_0${index % 2}`, speaker_id: index % 2, is_user: index % 2 === 0 };
    const segments = [{ ...speaker, text, start: index * 6, end: index * 6 + 4, person_id: null }];
    device.socket.send(JSON.stringify({ type: 'suggested_transcript', segments, stt_provider: 'own' }));
  }
  await device.until('segments', () => device.segments().length === SAID.length);

  for (const colorScheme of ['light', 'dark'] as const)
    for (const [size, viewport] of Object.entries({ phone: PHONE, desk: DESK })) {
      const { page, complaints } = await openPage(browser, viewport, { colorScheme, locale: LOCALE });
      const name = (what: string) => `${what}-${size}-${colorScheme}`;
      await page.goto(server.url);
      await page.getByRole('button', { name: TEXTS.signIn }).waitFor();
      await shoot(page, name('sign-in'));
      await signIn(page, server, '/', { name: 'owner', texts: TEXTS });
      await page
        .locator('.words li')
        .nth(SAID.length - 1)
        .waitFor();
      await shoot(page, name('now'));
      for (const each of PAGES) {
        await page.goto(`${server.url}/${each}`);
        await settled(page);
        await shoot(page, name(each));
      }
      await page.goto(`${server.url}/conversations`);
      await page.locator('a.row').nth(0).click();
      await page.locator('.segment').first().waitFor();
      await shoot(page, name('conversation'));
      await page.goto(`${server.url}/ask`);
      await page.getByLabel(TEXTS.question, { exact: true }).fill('When does the plumber come?');
      await page.getByRole('button', { name: TEXTS.ask }).click();
      await page.locator('.chat[aria-busy=false] .answer').last().waitFor();
      await shoot(page, name('answer'));
      await page.getByRole('button', { name: TEXTS.clearChat }).click();
      await page.locator('.examples').waitFor();
      for (const complaint of complaints) console.error(`${name('page')}: ${complaint}`);
      await page.context().close();

      const { page: empty } = await openPage(browser, viewport, { colorScheme, locale: LOCALE });
      await signIn(empty, server, '/', { name: 'nina', texts: TEXTS });
      for (const each of ['', ...PAGES]) {
        await empty.goto(`${server.url}/${each}`);
        await settled(empty);
        await shoot(empty, name(`empty-${each || 'now'}`));
      }
      await empty.context().close();
    }
  device.socket.close();
} finally {
  await browser.close();
  await server.stop();
}
if (process.argv.includes('--readme')) {
  const images = join(ROOT, 'docs', 'images');
  await mkdir(images, { recursive: true });
  for (const name of SHOWN) await copyFile(join(into, `${name}.png`), join(images, `${name}.png`));
}
console.log(`Pictures are in ${into}`);

/** Names the second voice of the newest conversation, and sets two goals. */
async function fillPeopleAndGoals(): Promise<void> {
  const { get, post } = await accountOf(server, 'owner');
  const [newest] = await get('/v1/dev/user/conversations?limit=1');
  const nora = await post('/v1/people', { name: 'Nora' });
  await post('/v1/people', { name: 'Jonas' });
  await post(`/v1/conversations/${newest?.id}/speakers/1`, { person_id: nora.id });
  await post('/v1/dev/user/goals', { title: 'Read more', target_value: 12, current_value: 5, unit: 'books' });
  await post('/v1/dev/user/goals', { title: 'Sing in the summer concert', goal_type: 'boolean' });
}

async function shoot(page: Page, name: string): Promise<void> {
  const size = page.viewportSize();
  if (isWhole && size) {
    const height = Number(await page.evaluate('document.getElementById("main")?.scrollHeight ?? 0'));
    const bar = size.width < DESK.width ? 60 : 0;
    await page.setViewportSize({ ...size, height: Math.min(LONGEST, Math.max(size.height, height + bar)) });
  }
  await page.screenshot({ path: join(into, `${name}.png`) });
  if (isWhole && size) await page.setViewportSize(size);
}
