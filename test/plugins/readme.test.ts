import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { loadConfig, sttNames } from '../../config/load.ts';
import type { WebhookType } from '../../core/contract/plugin.ts';
import { BUILTIN_PLUGINS } from '../../core/plugin-host/builtin.ts';
import { createPluginHost, type PluginHost } from '../../core/plugin-host/plugin-host.ts';
import { createLog } from '../../core/runtime/log.ts';
import { sttChecks } from '../../plugins/kit/suites/stt.ts';
import { webhookChecks } from '../../plugins/kit/suites/webhook.ts';
import { earshot } from '../helpers/cli.ts';
import { startNotifyServer } from '../helpers/notify-servers.ts';
import { fixture } from './stt/context.ts';

const README = readFileSync(new URL('../../plugins/README.md', import.meta.url), 'utf8');
const RECORDINGS = await Promise.all(['tomorrow', 'garden'].map(fixture));

/** The first block of this language, as a reader copies it. */
function block(language: string): string {
  const [, code] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(README) ?? [];
  if (code === undefined) throw new Error(`the manual has no ${language} block`);
  return code;
}

/** The block that begins with the name of its file. */
function fileBlock(name: string): string {
  const code = README.split('```').find(part => part.startsWith(`js\n// ${name}\n`));
  if (code === undefined) throw new Error(`the manual has no ${name}`);
  return code.slice('js\n'.length);
}

/** Acme's own server: it knows our recordings, and hears them anywhere in a WAV file. */
async function acmeServer(t: ExecutionContext): Promise<string> {
  const known = RECORDINGS.map(({ samples, text }) => ({
    text,
    bytes: Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength),
  }));
  const server = createServer(async (request, response) => {
    const wav = await buffer(request);
    const text = known
      .filter(({ bytes }) => wav.includes(bytes))
      .map(recording => recording.text)
      .join(' ');
    response.statusCode = request.headers.authorization === 'Bearer the-key' ? 200 : 401;
    response.end(JSON.stringify({ text }));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The manual's first plugin, with the manual's configuration, under the host. */
async function loadExample(t: ExecutionContext, env: NodeJS.ProcessEnv = {}): Promise<PluginHost> {
  const dir = mkdtempSync(join(tmpdir(), 'earshot-manual-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'acme-stt.mjs'), block('js'));
  writeFileSync(join(dir, 'earshot.yaml'), block('yaml'));
  const url = await acmeServer(t);
  const config = loadConfig({ cwd: dir, env: { EARSHOT_PLUGINS__ACME_STT__URL: url, ...env } });
  const host = createPluginHost({
    builtin: BUILTIN_PLUGINS,
    config,
    log: createLog({ level: 'silent', format: 'json' }),
    clock: { now: () => Date.now(), sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}) },
    dataDir: config.config.dataDir,
    wanted: { stt: sttNames(config.config) },
  });
  t.teardown(() => host.stop());
  await host.loadAll({ skip: Object.keys(BUILTIN_PLUGINS) });
  return host;
}

/** Its engine is another machine's: it cannot die under a session. */
const checks = sttChecks.filter(({ needsCrash }) => !needsCrash);

for (const check of checks) {
  test(`the manual's first plugin ${check.title}`, async t => {
    const host = await loadExample(t);
    const speech = RECORDINGS.map(recording => ({ ...recording, wordErrors: 0 }));
    await t.notThrowsAsync(check.run({ provider: host.get('stt', 'acme-stt'), language: 'en', speech }));
  });
}

test("the manual's first plugin says config_error when its key is refused", async t => {
  const host = await loadExample(t, { EARSHOT_PLUGINS__ACME_STT__API_KEY: 'another-key' });
  const { signal } = new AbortController();
  await t.throwsAsync(host.get('stt').open({ language: 'en', signal }), {
    code: 'config_error',
    message: /apiKey/,
  });
});

test("the manual's first plugin passes the check that the manual tells of", async t => {
  const dir = mkdtempSync(join(tmpdir(), 'earshot-manual-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'acme-stt.mjs'), block('js'));
  writeFileSync(join(dir, 'acme.yaml'), `url: ${await acmeServer(t)}\napiKey: the-key\n`);
  const [, args = ''] = /^npx earshot (plugin check .*)$/m.exec(block('sh')) ?? [];
  const here = args.split(' ').map(arg => (/^[.\w-]+\.(mjs|yaml)$|^\.\//.test(arg) ? join(dir, arg) : arg));
  const speech = ['tomorrow', 'garden'].flatMap((name, index) => [
    ...['--speech', join(import.meta.dirname, `../fixtures/${name}.wav`)],
    ...['--text', RECORDINGS[index]?.text ?? ''],
  ]);
  const { code, stdout, stderr } = await earshot([...here, ...speech]);
  t.is(code, 0, stdout + stderr);
  t.deepEqual(
    stdout.split('\n').filter(line => /^[!✗]/.test(line)),
    [],
  );
  t.regex(stdout, /✓ stt: recognises what was said/);
});

test("the manual's webhook type is short, and does what one must", async t => {
  const dir = mkdtempSync(join(tmpdir(), 'earshot-manual-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const code = fileBlock('acme-webhook.mjs');
  t.true(code.trimEnd().split('\n').length <= 25);
  writeFileSync(join(dir, 'acme-webhook.mjs'), code);
  writeFileSync(join(dir, 'earshot.yaml'), 'plugins: { acme-webhook: { use: ./acme-webhook.mjs } }');
  const config = loadConfig({ cwd: dir, env: {} });
  const host = createPluginHost({
    builtin: {},
    config,
    log: createLog({ level: 'silent', format: 'json' }),
    clock: { now: () => Date.now(), sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}) },
    dataDir: config.config.dataDir,
  });
  t.teardown(() => host.stop());
  await host.loadAll();
  for (const check of webhookChecks)
    await t.notThrowsAsync(check.run({ webhook: host.get('webhook', 'acme-webhook') }), check.title);
});

/** The block of TypeScript that declares a webhook type; the compiler sees the same in this file. */
const typed: WebhookType<'conversation'> = {
  type: 'acme_matrix',
  trigger: 'conversation',
  render: ({ conversation, userId, wire }) => ({
    query: { uid: userId },
    contentType: 'application/json',
    body: JSON.stringify([conversation.structured.title, wire.transcript_segments]),
  }),
};

test("the manual's webhook type in TypeScript does what one must", async t => {
  const dir = mkdtempSync(join(tmpdir(), 'earshot-manual-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const code = README.split('```').find(part => part.includes("const webhook: WebhookType<'conversation'>"));
  const file = join(dir, 'acme-webhook.mts');
  writeFileSync(file, code?.replace(/^ts\n/, '') ?? '');
  const { default: plugin } = (await import(file)) as { default: { setup(): { webhook: WebhookType } } };
  for (const webhook of [plugin.setup().webhook, typed])
    for (const check of webhookChecks) await t.notThrowsAsync(check.run({ webhook }), check.title);
});

test("the manual's channel is short, and passes the check that the manual tells of", async t => {
  const dir = mkdtempSync(join(tmpdir(), 'earshot-manual-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const code = fileBlock('acme-pager.mjs');
  t.true(code.trimEnd().split('\n').length <= 30);
  writeFileSync(join(dir, 'acme-pager.mjs'), code);
  const server = await startNotifyServer(({ body }, _raw, response) => {
    response.end();
    return `${body.title}`;
  });
  t.teardown(() => server.close());
  writeFileSync(join(dir, 'mine.yaml'), `url: ${server.url}/pager\ntoken: the-token\n`);
  const [, args = ''] = /`npx earshot (plugin check \S+ --address \S+)`/.exec(README) ?? [];
  const here = args.split(' ').map(arg => (/\.(mjs|yaml)$/.test(arg) ? join(dir, arg) : arg));
  const { code: status, stdout, stderr } = await earshot(here);
  t.is(status, 0, stdout + stderr);
  t.regex(stdout, /✓ notify: sends several at once/);
  t.true(server.words.filter(title => title === 'Tea at four').length > 10, 'they went to that address');
});
