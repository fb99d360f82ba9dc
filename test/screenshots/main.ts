/**
 * Pictures of every page of the dashboard, light and dark, on a phone and a desk: `npm run screenshots [FOLDER]`. With
 * `--readme` those that the README shows are written to `docs/images/`, too.
 */
import { copyFile, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { buildDashboard } from '../../config/setup/dashboard.mjs';
import { DESK, launch, openPage, PASSWORD, PHONE, signIn } from '../helpers/browser.ts';
import { fillHome } from '../helpers/home.ts';
import { connectListen } from '../helpers/listen-client.ts';
import { buildServer, countingStt } from '../helpers/services.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const folder = process.argv.slice(2).find(given => given !== '--readme');
const into = resolve(folder ?? join(ROOT, 'dist', 'screenshots'));
/** Pictures of the README. */
const SHOWN = ['now-phone-light', 'conversation-phone-light', 'answer-phone-dark'];
const PAGES = [
  ...['conversations', 'tasks', 'memories', 'ask', 'more', 'connections', 'notifications', 'settings'],
  ...['system', 'people', 'goals', 'statistics'],
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
  const { page: first } = await openPage(browser, PHONE);
  await first.goto(welcome ?? server.url);
  await first.getByRole('button', { name: 'Begin' }).waitFor();
  await shoot(first, 'welcome-phone');
  await server.app.commands['user.password']({ user: 'owner', password: PASSWORD });
  await fillHome(server);

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
      const { page, complaints } = await openPage(browser, viewport, { colorScheme });
      const name = (what: string) => `${what}-${size}-${colorScheme}`;
      await page.goto(server.url);
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      await shoot(page, name('sign-in'));
      await signIn(page, server);
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
      await page.getByLabel('Question').fill('When does the plumber come?');
      await page.getByRole('button', { name: 'Ask' }).click();
      await page.locator('.chat[aria-busy=false] .answer').last().waitFor();
      await shoot(page, name('answer'));
      for (const complaint of complaints) console.error(`${name('page')}: ${complaint}`);
      await page.context().close();
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

/** Nothing is loading any more. */
async function settled(page: Page): Promise<void> {
  await page.locator('h1').waitFor();
  await page.locator('.skeletons').first().waitFor({ state: 'detached' });
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(into, `${name}.png`) });
}
