import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { createPluginStarts, retryPlugin } from '../../../core/plugin-host/starts.ts';
import { earshot, startEarshot } from '../../helpers/cli.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { freePort } from '../../helpers/free-port.ts';

const clock = { at: Date.UTC(2026, 0, 1), now: () => clock.at };

test('A plugin that ended three starts in a row is disabled until it is enabled again', async t => {
  const dataDir = await temporaryDirectory(t);
  for (let start = 0; start < 3; start++) {
    const starts = createPluginStarts(dataDir, clock);
    starts.conclude();
    t.notThrows(() => starts.refuse('acme'));
    starts.begin('acme'); // and the process is gone
  }
  const fourth = createPluginStarts(dataDir, clock);
  fourth.conclude();
  t.throws(() => fourth.refuse('acme'), {
    code: 'config_error',
    message: /acme ended the last 3 starts and is left out/,
  });
  t.notThrows(() => fourth.refuse('other'));
  t.false(retryPlugin(dataDir, 'other'));
  t.true(retryPlugin(dataDir, 'acme'));
  t.notThrows(() => createPluginStarts(dataDir, clock).refuse('acme'));
});

test('A start that the plugin survived resets the count, and a crash long after a start does not count', async t => {
  const dataDir = await temporaryDirectory(t);
  const run = (work: (starts: ReturnType<typeof createPluginStarts>) => void) => {
    const starts = createPluginStarts(dataDir, clock);
    starts.conclude();
    starts.begin('acme');
    work(starts);
    return starts;
  };
  const crash = () =>
    run(starts => {
      starts.survived('acme');
      starts.crashed('acme', new Error('late rejection'));
      starts.crashed('acme', 'it ended the process'); // the same, reported again
    });
  crash();
  t.true(crash().hasSuspects());
  run(starts => starts.survived('acme'));
  crash();
  crash();
  run(starts => {
    starts.survived('acme');
    clock.at += 3_600_000;
    starts.crashed('acme', new Error('an hour later'));
  });
  crash();
  crash();
  t.notThrows(() => crash().refuse('other'));
  const last = createPluginStarts(dataDir, clock);
  last.conclude();
  t.throws(() => last.refuse('acme'), { message: /\(late rejection\)/ });
});

test('A server that a plugin has killed three times starts without it, keeps the others, and reports it everywhere', async t => {
  const folder = await temporaryDirectory(t);
  const dataDir = join(folder, 'data');
  await mkdir(dataDir, { mode: 0o700 });
  const plugin = (name: string, setup: string) =>
    writeFile(
      join(folder, `${name}.mjs`),
      `export default { name: '${name}', api: 1, title: '${name}', async setup() { ${setup} } };`,
    );
  await plugin('deadly', "await 0; process.kill(process.pid, 'SIGSEGV'); await new Promise(() => {});");
  // long enough to be running when the other one ends the process
  await plugin(
    'innocent',
    'await new Promise(done => setTimeout(done, 200)); return { vad: { windowSize: 512, open() {} } };',
  );
  const file = join(folder, 'earshot.yaml');
  const port = await freePort();
  const uses = ['innocent', 'deadly'].map(name => `  ${name}:\n    use: ./${name}.mjs\n`).join('');
  await writeFile(file, `port: ${port}\ndataDir: ${dataDir}\nplugins:\n${uses}`);
  for (let start = 0; start < 3; start++) {
    const ended = await earshot(['--config', file, 'serve']);
    t.not(ended.code, 0);
  }
  const child = startEarshot(['--config', file, 'serve']);
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', text => {
      said += text;
    });
  await eventually(() => said.includes(`127.0.0.1:${port}`) || child.exitCode !== null);
  t.regex(said, /deadly ended the last 3 starts and is left out; to try it again: .*plugin retry deadly/);
  const status = await earshot(['--config', file, 'status', '--json']);
  const { ready } = JSON.parse(status.stdout) as { ready: { name: string; ok: boolean; detail: string }[] };
  t.regex(ready.find(({ name }) => name === 'deadly')?.detail ?? '', /ended the last 3 starts/);
  t.true(ready.find(({ name }) => name === 'innocent')?.ok);
  const retried = await earshot(['--config', file, 'plugin', 'retry', 'deadly']);
  t.is(retried.code, 0, retried.stderr);
  t.notThrows(() => createPluginStarts(dataDir, clock).refuse('deadly'));
});
