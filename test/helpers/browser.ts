import { existsSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { de } from '../../plugins/page/dashboard/app/texts-de.ts';
import { en } from '../../plugins/page/dashboard/app/texts-en.ts';
import { PASSWORD } from './accounts.ts';
import type { TestServer } from './services.ts';

export { PASSWORD };

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
  // a microphone that plays this recording in a loop
  ...['--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream'],
  `--use-file-for-fake-audio-capture=${join(import.meta.dirname, '../../bridge/simulator/recording.wav')}`,
];

/** Generous, because a browser starts slowly on a busy machine. */
const LAUNCH_MS = 240_000;

export const PHONE = { width: 390, height: 844 };
export const DESK = { width: 1280, height: 860 };

/** Null if none is found; `HOW` then says how to install one. */
export function findChromium(): string | null {
  return [process.env.CHROMIUM_PATH ?? '', ...PLACES].find(path => path !== '' && existsSync(path)) ?? null;
}
export const HOW =
  'No Chromium was found: apt-get install chromium, or set CHROMIUM_PATH to one. .ci/run installs it where it may.';

export async function launch(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null) throw new Error(HOW);
  return chromium.launch({ executablePath, args: ARGUMENTS, timeout: LAUNCH_MS });
}

export interface Watched {
  page: Page;
  /** Script errors, console errors, and violations of the page's security policy. */
  complaints: string[];
}

/** Opens a page in a new browser profile of this size, and records its errors. */
export async function openPage(
  browser: Browser,
  viewport: { width: number; height: number },
  options: { colorScheme?: 'light' | 'dark'; locale?: string; serviceWorkers?: 'block' } = {},
): Promise<Watched> {
  const context = await browser.newContext({ viewport, locale: 'en-GB', timezoneId: 'UTC', ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', error => complaints.push(`error: ${error.message}`));
  page.on('console', message => {
    // The page learns from a 401 that nobody is signed in.
    const { url } = message.location();
    const isRefusal = /status of 401/.test(message.text()) && url.includes('/v1/auth/');
    if (message.type() === 'error' && !isRefusal) complaints.push(`console: ${message.text()} ${url}`);
  });
  return { page, complaints };
}

export async function signIn(
  page: Page,
  { url }: Pick<TestServer, 'url'>,
  path = '/',
  { name = 'owner', texts = en }: { name?: string; texts?: typeof de | typeof en } = {},
): Promise<void> {
  await page.goto(url + path);
  await page.getByLabel(texts.name).fill(name);
  await page.getByLabel(texts.password).fill(PASSWORD);
  await page.getByRole('button', { name: texts.signIn }).click();
  await page.locator('nav.side').waitFor();
}

/** Resolves when nothing on the page is loading any more. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1').waitFor();
  await page.locator('.skeletons').first().waitFor({ state: 'detached' });
}

/** Lists the accessibility violations that axe finds on the page. */
export async function inaccessible(page: Page): Promise<string[]> {
  const found = await page.evaluate(`${axe.source}; axe.run(document, { resultTypes: ['violations'] })`);
  const { violations } = found as {
    violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[];
  };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.target.join(' ')} ${node.failureSummary}`));
}
