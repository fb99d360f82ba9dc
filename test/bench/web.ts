/** The dashboard in a real Chromium: download size, time until it is usable, and smoothness of long lists. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Knex } from 'knex';
import type { CDPSession, Page } from 'playwright-core';
import { buildDashboard } from '../../config/setup/dashboard.mjs';
import { openSqlite } from '../../plugins/storage/sql/sqlite.ts';
import { accountOf } from '../helpers/accounts.ts';
import { launch, openPage, PASSWORD, PHONE, signIn } from '../helpers/browser.ts';
import { buildServer, countingStt, type TestServer } from '../helpers/services.ts';
import { storageContext } from '../helpers/storage.ts';
import { type Bench, type Benchmark, type Cell, spread, type Table } from './benchmark.ts';
import { addRows } from './lists/many.ts';

/** A mid-range phone, as Lighthouse simulates it. */
const SLOWER = 4;
const ROUNDS = { quick: 1, long: 5 };
const CONVERSATIONS = { quick: 500, long: 10_000 };
/** A transcript of four hours: a segment every 4 s. */
const SEGMENT_S = 4;
const SEGMENTS = { quick: 200, long: (4 * 3600) / SEGMENT_S };
const SCROLL_MS = { quick: 500, long: 8000 };
/** Pixels that a fast thumb moves in a 60th of a second. */
const SCROLL_PX = 60;

export const WEB: Benchmark[] = [
  {
    name: 'web',
    title: 'the dashboard in Chromium: size, start on a slow phone, and scrolling',
    run: async bench => run(bench),
  },
];

async function run(bench: Bench): Promise<Table[]> {
  const size = bench.quick ? 'quick' : 'long';
  buildDashboard(join(import.meta.dirname, '../..'), { say: bench.say });
  const server = await buildServer(countingStt());
  bench.teardown(server.stop);
  await server.app.commands['user.password']({ user: 'owner', password: PASSWORD });
  bench.say(`adding ${CONVERSATIONS[size]} conversations, and one of ${SEGMENTS[size]} segments`);
  const { writer, close } = openSqlite(join(server.dataDir, 'earshot.db'), storageContext());
  await addRows(writer, server.userId, CONVERSATIONS[size]);
  const long = await addLong(server, writer, SEGMENTS[size]);
  await close();
  const browser = await launch();
  bench.teardown(() => browser.close());

  const starts: Started[] = [];
  for (let round = 0; round < ROUNDS[size]; round += 1) {
    const { page } = await openPage(browser, PHONE);
    starts.push(await start(page, server));
    await page.context().close();
  }
  const { page } = await openPage(browser, PHONE);
  await signIn(page, server, '/conversations');
  await page.locator('a.row').first().waitFor();
  const list = await scroll(page, SCROLL_MS[size]);
  await page.goto(`${server.url}/conversations/${long}`);
  await page.locator('.segment').first().waitFor();
  const transcript = await scroll(page, SCROLL_MS[size]);
  return [
    {
      title: `The first load on a phone, processor ${SLOWER} times slower`,
      columns: ['page', 'JavaScript KiB', 'all KiB', 'first paint ms', 'usable ms'],
      rows: [
        [
          'Earshot, sign in',
          starts[0]?.scriptKib ?? null,
          starts[0]?.allKib ?? null,
          spread(starts.map(({ paintMs }) => paintMs)),
          spread(starts.map(({ usableMs }) => usableMs)),
        ],
        ...PUBLISHED,
      ],
      notes: [
        'As sent until then, compressed. Usable: the button is there, and the processor answers within a frame.',
        'What is behind the sign-in is fetched afterwards; `vite build` prints what both weigh.',
        'Peers as they published them: https://github.com/home-assistant/frontend/pull/180 and ' +
          'https://www.home-assistant.io/blog/2016/08/07/optimizing-the-home-assistant-mobile-web-app/ ' +
          '(a phone of 2015), https://github.com/Chainlit/chainlit/pull/2349. They do other things, on other machines.',
      ],
    },
    {
      title: 'Scrolling without a pause, on a phone’s screen',
      columns: [
        'page',
        'rows',
        'frames/s',
        'processor ms a frame',
        '95 % of frames within ms',
        'elements',
        'heap MB',
      ],
      rows: [
        ['conversations', CONVERSATIONS[size], ...cellsOf(list)],
        ['transcript of 4 hours', SEGMENTS[size], ...cellsOf(transcript)],
      ],
      notes: [
        `${SCROLL_PX} pixels a frame. Elements and heap at the end, after a collection. Drawn without a graphics card.`,
      ],
    },
  ];
}

const PUBLISHED: Cell[][] = [
  ['Home Assistant frontend, 2017; start: 2016', 136.2, null, null, 2400],
  ['Chainlit, 2025', null, 1024, null, null],
];

interface Started {
  scriptKib: number;
  allKib: number;
  paintMs: number;
  usableMs: number;
}

/** Taken by the page itself: asked from outside, the time of this process would count, too. */
const USABLE = `window.usable = new Promise(done => {
  const watcher = new MutationObserver(() => {
    if (!document.querySelector('button[type=submit]')) return;
    watcher.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now())));
  });
  watcher.observe(document, { childList: true, subtree: true });
})`;

async function start(page: Page, { url }: TestServer): Promise<Started> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  const scripts = new Set<string>();
  let [scriptBytes, bytes] = [0, 0];
  devtools.on('Network.responseReceived', ({ requestId, type }) => {
    if (type === 'Script') scripts.add(requestId);
  });
  devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    bytes += encodedDataLength;
    if (scripts.has(requestId)) scriptBytes += encodedDataLength;
  });
  await page.addInitScript(USABLE);
  await page.goto(url);
  const usableMs = Number(await page.evaluate('usable'));
  const paintMs = Number(
    await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`),
  );
  const kib = (count: number) => Math.round(count / 102.4) / 10;
  return { scriptKib: kib(scriptBytes), allKib: kib(bytes), paintMs, usableMs };
}

interface Scrolled {
  perSecond: number;
  /** Processor time of the page's main thread per frame. */
  cpuMs: number;
  slowMs: number;
  nodes: number;
  heapMb: number;
}

async function scroll(page: Page, ms: number): Promise<Scrolled> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const before = await busyMs(devtools);
  const frames = (await page.evaluate(`new Promise(done => {
    const main = document.getElementById('main');
    const frames = [];
    let last = performance.now();
    const end = last + ${ms};
    const step = now => {
      frames.push(now - last);
      last = now;
      main.scrollTop += ${SCROLL_PX};
      if (now < end) requestAnimationFrame(step);
      else done(frames);
    };
    requestAnimationFrame(step);
  })`)) as number[];
  const cpuMs = (await busyMs(devtools)) - before;
  const { nodes, heapMb } = await memoryOf(devtools);
  const sorted = frames.toSorted((a, b) => a - b);
  const total = frames.reduce((sum, each) => sum + each, 0);
  return {
    perSecond: (frames.length * 1000) / total,
    cpuMs: cpuMs / frames.length,
    slowMs: sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN,
    nodes,
    heapMb,
  };
}

async function busyMs(devtools: CDPSession): Promise<number> {
  const { metrics } = await devtools.send('Performance.getMetrics');
  return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1000;
}

async function memoryOf(devtools: CDPSession): Promise<{ nodes: number; heapMb: number }> {
  await devtools.send('HeapProfiler.collectGarbage');
  const { nodes } = await devtools.send('Memory.getDOMCounters');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  return { nodes, heapMb: usedSize / 1e6 };
}

function cellsOf({ perSecond, cpuMs, slowMs, nodes, heapMb }: Scrolled): Cell[] {
  return [perSecond, cpuMs, slowMs, nodes, heapMb];
}

/** Maximum segments per request. */
const MOST_AT_ONCE = 500;
/** SQLite accepts at most 500 of them. */
const ROWS_AT_ONCE = 250;

/** Resolves to its id. */
async function addLong(server: TestServer, db: Knex, count: number): Promise<string> {
  const { post } = await accountOf(server, 'owner');
  const said = Array.from({ length: count }, (_, at) => ({
    text: `Sentence ${at}: ${'and then we walked along the lake '.repeat(1 + (at % 4))}`,
    ...{ start: at * SEGMENT_S, end: at * SEGMENT_S + 3, speaker: `SPEAKER_0${at % 3}` },
  }));
  const { id } = await post('/v1/dev/user/conversations/from-segments', {
    transcript_segments: said.slice(0, MOST_AT_ONCE),
  });
  const row = await db('segments').where({ conversation_id: id }).first();
  for (let from = MOST_AT_ONCE; from < count; from += ROWS_AT_ONCE) {
    const rows = said.slice(from, from + ROWS_AT_ONCE).map(({ text, start, end }) => ({
      ...{ ...row, id: randomUUID(), text, start, end },
    }));
    await db('segments').insert(rows);
  }
  return String(id);
}
