import { existsSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { TestServer } from './services.ts';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
  // a microphone that hears this recording, again and again
  ...['--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream'],
  `--use-file-for-fake-audio-capture=${join(import.meta.dirname, '../../bridge/simulator/recording.wav')}`,
];

export const PASSWORD = 'correct horse battery';
export const PHONE = { width: 390, height: 844 };
export const DESK = { width: 1280, height: 860 };

/** Null: there is none; then `HOW` says how to get it. */
export function findChromium(): string | null {
  return [process.env.CHROMIUM_PATH ?? '', ...PLACES].find(path => path !== '' && existsSync(path)) ?? null;
}
export const HOW =
  'No Chromium was found: apt-get install chromium, or set CHROMIUM_PATH to one. .ci/run installs it where it may.';

export async function launch(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null) throw new Error(HOW);
  return chromium.launch({ executablePath, args: ARGUMENTS });
}

export interface Watched {
  page: Page;
  /** Errors of scripts, what the console calls an error, and what the page's policy refused. */
  complaints: string[];
}

/** A new browser profile of this size that notes everything that goes wrong. */
export async function openPage(
  browser: Browser,
  viewport: { width: number; height: number },
  options: { colorScheme?: 'light' | 'dark'; locale?: string } = {},
): Promise<Watched> {
  const context = await browser.newContext({ viewport, locale: 'en-GB', timezoneId: 'UTC', ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', error => complaints.push(`error: ${error.message}`));
  page.on('console', message => {
    // A request that is answered with 401 is how the page learns that nobody is signed in.
    const isRefusal = /status of 401/.test(message.text()) && message.location().url.includes('/v1/auth/');
    if (message.type() === 'error' && !isRefusal) complaints.push(`console: ${message.text()}`);
  });
  return { page, complaints };
}

export async function signIn(page: Page, { url }: Pick<TestServer, 'url'>, path = '/'): Promise<void> {
  await page.goto(url + path);
  await page.getByLabel('Name').fill('owner');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('nav.side').waitFor();
}

/** Lists barriers that axe finds on the page. */
export async function inaccessible(page: Page): Promise<string[]> {
  const found = await page.evaluate(`${axe.source}; axe.run(document, { resultTypes: ['violations'] })`);
  const { violations } = found as {
    violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[];
  };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.target.join(' ')} ${node.failureSummary}`));
}
