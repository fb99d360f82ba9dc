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
import { command, earshot } from '../helpers/cli.ts';
import { startNotifyServer } from '../helpers/notify-servers.ts';
import { execute } from '../helpers/packed.ts';
import { fixture } from './stt/context.ts';

const README = readFileSync(new URL('../../plugins/README.md', import.meta.url), 'utf8');
const RECORDINGS = await Promise.all(['tomorrow', 'garden'].map(fixture));

/** The first block of this language, as a reader copies it. */
function block(language: string): string {
  const [, code] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(README) ?? [];
  if (code === undefined) throw new Error(`the manual has no ${language} block`);
  return code;
}

/** The block that starts with the name of its file. */
function fileBlock(name: string): string {
  const code = README.split('```').find(part => part.startsWith(`js\n// ${name}\n`));
  if (code === undefined) throw new Error(`the manual has no ${name}`);
  return code.slice('js\n'.length);
}

/** A stand-in for Acme's server: it recognises our recordings anywhere in a WAV file. */
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

/** The README's first plugin, with the README's configuration, in the plugin host. */
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

/** Its engine runs on another machine: it cannot crash within a session. */
const checks = sttChecks.filter(({ needsCrash }) => !needsCrash);

for (const check of checks) {
  test(`the README's first plugin ${check.title}`, async t => {
    const host = await loadExample(t);
    const speech = RECORDINGS.map(recording => ({ ...recording, wordErrors: 0 }));
    await t.notThrowsAsync(check.run({ provider: host.get('stt', 'acme-stt'), language: 'en', speech }));
  });
}

test("the README's first plugin reports config_error when its key is rejected", async t => {
  const host = await loadExample(t, { EARSHOT_PLUGINS__ACME_STT__API_KEY: 'another-key' });
  const { signal } = new AbortController();
  await t.throwsAsync(host.get('stt').open({ language: 'en', signal }), {
    code: 'config_error',
    message: /apiKey/,
  });
});

test("the README's first plugin passes the check that the README names", async t => {
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
  const { code, stdout, stderr } = await command([...here, ...speech]);
  t.is(code, 0, stdout + stderr);
  t.deepEqual(
    stdout.split('\n').filter(line => /^[!✗]/.test(line)),
    [],
  );
  t.regex(stdout, /✓ stt: recognises what was said/);
});

test("the README's webhook type is short, and meets the contract", async t => {
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

test("the README's test of its webhook type passes under Node's runner, and fails for a wrong type", async t => {
  const dir = mkdtempSync(join(tmpdir(), 'earshot-manual-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const suite = new URL('../../plugins/kit/suites/webhook.ts', import.meta.url).href;
  const file = join(dir, 'acme-webhook.test.mjs');
  writeFileSync(file, fileBlock('acme-webhook.test.mjs').replace('earshot/conformance/webhook', suite));
  const code = fileBlock('acme-webhook.mjs');
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = (plugin: string) => {
    writeFileSync(join(dir, 'acme-webhook.mjs'), plugin);
    return execute(process.execPath, ['--test', '--test-reporter=tap', file], { cwd: dir, env });
  };
  const good = await run(code);
  t.is(good.code, 0, good.stdout + good.stderr);
  t.regex(good.stdout, new RegExp(`^# pass ${webhookChecks.length}$`, 'm'));
  t.not((await run(code.replace("contentType: 'application/json',", ''))).code, 0);
});

/** The TypeScript block that declares a webhook type; the compiler checks the same code in this file. */
const typed: WebhookType<'conversation'> = {
  type: 'acme_matrix',
  trigger: 'conversation',
  render: ({ conversation, userId, wire }) => ({
    query: { uid: userId },
    contentType: 'application/json',
    body: JSON.stringify([conversation.structured.title, wire.transcript_segments]),
  }),
};

test("the README's webhook type in TypeScript meets the contract", async t => {
  const dir = mkdtempSync(join(tmpdir(), 'earshot-manual-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const code = README.split('```').find(part => part.includes("const webhook: WebhookType<'conversation'>"));
  const file = join(dir, 'acme-webhook.mts');
  writeFileSync(file, code?.replace(/^ts\n/, '') ?? '');
  const { default: plugin } = (await import(file)) as { default: { setup(): { webhook: WebhookType } } };
  for (const webhook of [plugin.setup().webhook, typed])
    for (const check of webhookChecks) await t.notThrowsAsync(check.run({ webhook }), check.title);
});

test("the README's channel is short, and passes the check that the README names", async t => {
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
