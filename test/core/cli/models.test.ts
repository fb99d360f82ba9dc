import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { proposalFor } from '../../../config/setup/proposal.mjs';
import { plainEnvironment } from '../../helpers/cli.ts';
import { answerWithRanges, breakHalfway, serveFiles } from '../../helpers/file-server.ts';

const ROOT = join(import.meta.dirname, '../../..');
const BYTES = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 7919) % 251));
const FILES = { '/small.bin': BYTES, '/tokens.txt': BYTES };

/** A copy of the command line, compiled once, whose catalogue each test replaces. */
const tree = await mkdtemp(join(tmpdir(), 'earshot-models-'));
test.before(async () => {
  for (const part of ['core', 'config', 'bridge', 'package.json'])
    await cp(join(ROOT, part), join(tree, part), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
});
test.after.always(() => rm(tree, { recursive: true }));

/** Serves the catalogue's models from `origin`, and gives the command its own directory. */
async function checkout(origin: string, size = BYTES.length) {
  const directory = await mkdtemp(join(tree, 'work-'));
  const sha256 = createHash('sha256').update(BYTES).digest('hex');
  const files = { model: { name: 'small.bin', url: `${origin}/small.bin`, size, sha256 } };
  const model = { plugin: 'whisper', languages: ['multi'], licence: 'MIT', about: 'small', files };
  const sherpa = { ...model, plugin: 'sherpa-onnx' };
  const tokens = { ...files.model, name: 'tokens.txt', url: `${origin}/tokens.txt` };
  const models = {
    'whisper-small': { ...model, wordErrors: 8.59 },
    'sherpa-tiny': { ...sherpa, live: true, punctuation: true },
    'chat-small': { ...model, plugin: 'llama', kind: 'instruct' },
    'sherpa-large': { ...sherpa, live: false, runBy: 'sherpa-final', files: { ...files, tokens } },
  };
  const defaults = { whisper: 'whisper-base', 'sherpa-onnx': 'sherpa-tiny' };
  await writeFile(join(tree, 'config/models.json'), JSON.stringify({ defaults, models }));

  const main = join(tree, 'core/cli/main.mjs');
  const env = {
    ...plainEnvironment(),
    EARSHOT_DATA_DIR: join(directory, 'data'),
    NODE_COMPILE_CACHE: join(tree, 'compiled'),
  };
  return {
    directory,
    file: join(directory, 'data/plugins/whisper/whisper-small/small.bin'),
    command: [process.execPath, main, 'models'],
    env,
    models: (...args: string[]) => execute(process.execPath, [main, 'models', ...args], directory, env),
  };
}

function execute(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv) {
  return new Promise<{ code: unknown; stdout: string; stderr: string }>(resolve => {
    execFile(command, args, { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, stdout, stderr });
    });
  });
}

test.serial('a model is fetched, listed as installed, and removed', async t => {
  const { origin, asked } = await serveFiles(t, FILES);
  const { file, models } = await checkout(origin);
  const pulled = await models('pull', 'whisper-small');
  t.is(pulled.code, 0, pulled.stderr);
  t.regex(pulled.stderr, /^Fetching the speech model whisper-small \(3 MB, MIT\) from 127\.0\.0\.1:\d+ …\n/);
  t.regex(pulled.stderr, /\n 5\d %, \d of 3 MB\n(.*\n)*100 %, 3 of 3 MB\n$/);
  t.true(BYTES.equals(await readFile(file)));
  t.regex(
    (await models('list')).stdout,
    /^NAME .*\nwhisper-small +whisper +after +multi +8\.59 % +3 MB +206 MB +1 +MIT +installed\nsherpa-tiny +sherpa-onnx +live\* +multi +unknown +3 MB +206 MB +1 +MIT +default\nchat-small +llama +– +multi +– +3 MB/,
  );
  const again = await models('pull', 'whisper-small', '--json');
  t.like(JSON.parse(again.stdout), { name: 'whisper-small', plugin: 'whisper', bytes: BYTES.length });
  t.deepEqual(asked, ['/small.bin all']);

  t.is((await models('remove', 'whisper-small')).stdout, 'Removed whisper-small: 3 MB are free again.\n');
  t.false(existsSync(join(file, '..')));
  const { models: listed } = JSON.parse((await models('list', '--json')).stdout);
  t.like(listed[0], { name: 'whisper-small', bytes: BYTES.length, installed: false, default: false });
  const gone = await models('remove', 'whisper-small');
  t.is(gone.code, 1);
  t.regex(gone.stderr, /^error: whisper-small is not in \/.*whisper-small\n$/);
});

test.serial('says what to configure, if anything', async t => {
  const { origin } = await serveFiles(t, FILES);
  const { directory, models } = await checkout(origin);
  t.regex(
    (await models('pull', 'sherpa-tiny')).stdout,
    /\nNo configuration is needed: the next start uses it\.\n$/,
  );
  t.regex(
    (await models('pull', 'whisper-small')).stdout,
    /with this in earshot\.yaml:\n\nstt: \[whisper, sherpa-onnx, pocketsphinx\]\nplugins:\n {2}whisper:\n {4}model: whisper-small\n$/,
  );
  await writeFile(
    join(directory, 'earshot.yaml'),
    'stt: [whisper]\nplugins: { whisper: { model: whisper-small } }\n',
  );
  t.regex((await models('pull', 'whisper-small')).stdout, /\nNo configuration is needed/);
});

test.serial(
  'a model unsuitable for live use is suggested for a second pass, depending on the machine',
  async t => {
    const { origin } = await serveFiles(t, FILES);
    const { models } = await checkout(origin);
    t.regex(
      (await models('pull', 'sherpa-large')).stdout,
      /\n\nstt: \{ live: \[sherpa-onnx, pocketsphinx\], final: sherpa-final \}\nplugins:\n {2}sherpa-final:\n {4}model: sherpa-large\n$/,
    );

    const catalogue = JSON.parse(await readFile(join(ROOT, 'config/models.json'), 'utf8'));
    const forMachine = (cores: number, gigabytes: number) =>
      proposalFor(catalogue, { cores, memoryBytes: gigabytes * 2 ** 30 });
    t.regex(forMachine(8, 16) ?? '', /parakeet-tdt-0\.6b-v3/);
    t.regex(forMachine(2, 16) ?? '', /canary-180m/, 'too few cores for the largest');
    t.regex(forMachine(8, 2) ?? '', /canary-180m/, 'too little memory for it');
    t.regex(forMachine(1, 1) ?? '', /moonshine-tiny/);
    t.is(forMachine(1, 0.5), null);
  },
);

test.serial('counts up on one line of a terminal', async t => {
  const { origin } = await serveFiles(t, FILES);
  const { command, directory, env } = await checkout(origin);
  const line = [...command, 'pull', 'whisper-small'].join(' ');
  const { stdout } = await execute('script', ['-qec', line, '/dev/null'], directory, env);
  t.regex(stdout, /\r 5\d %, \d of 3 MB\r/);
  t.regex(stdout, /\r100 %, 3 of 3 MB\r?\n/);
});

test.serial('resumes after a broken connection, and creates the file only when it is complete', async t => {
  let broken = true;
  const { origin, asked } = await serveFiles(t, FILES, (...request) =>
    (broken ? breakHalfway : answerWithRanges)(...request),
  );
  const { file, models } = await checkout(origin);
  const { code, stderr } = await models('pull', 'whisper-small');
  t.is(code, 1);
  t.regex(
    stderr,
    /\nerror: .*the part that was downloaded is kept, and the next attempt resumes there; or copy it here by hand/,
  );
  t.false(existsSync(file));
  broken = false;
  const again = await models('pull', 'whisper-small');
  t.is(again.code, 0, again.stderr);
  t.true(BYTES.equals(await readFile(file)));
  t.regex(asked.at(-1) ?? '', /^\/small\.bin bytes=[1-9]\d+-$/);
});

test.serial('starts again if the server does not support partial downloads', async t => {
  let broken = true;
  const { origin, asked } = await serveFiles(t, FILES, (request, response, body) => {
    if (broken) breakHalfway(request, response, body);
    else response.end(body);
  });
  const { file, models } = await checkout(origin);
  await models('pull', 'whisper-small');
  broken = false;
  const { code, stderr } = await models('pull', 'whisper-small');
  t.is(code, 0, stderr);
  t.regex(asked.at(-1) ?? '', /bytes=[1-9]/);
  t.true(BYTES.equals(await readFile(file)));
});

test.serial('keeps nothing of a file with the wrong checksum', async t => {
  const { origin } = await serveFiles(t, { '/small.bin': Buffer.alloc(BYTES.length) });
  const { file, models } = await checkout(origin);
  const { code, stderr } = await models('pull', 'whisper-small');
  t.is(code, 1);
  t.regex(
    stderr,
    /\nerror: http:.*\/small\.bin has the SHA-256 [0-9a-f]{64} instead of [0-9a-f]{64}; or copy/,
  );
  t.false(existsSync(file));
  t.false(existsSync(`${file}.part`));
});

for (const status of [404, 500]) {
  test.serial(`reports the server's ${status}, and how to do without it`, async t => {
    const { origin } = await serveFiles(t, FILES, (_, response) => response.writeHead(status).end());
    const { file, models } = await checkout(origin);
    const { code, stderr } = await models('pull', 'whisper-small');
    t.is(code, 1);
    const address = `${origin}/small.bin`;
    const way = `error: ${address} answered with ${status}; or copy it here by hand: ${address} to ${file}\n`;
    t.true(stderr.endsWith(way), stderr);
    t.false(existsSync(`${file}.part`));
  });
}

test.serial('says how to do without a network', async t => {
  const { file, models } = await checkout('http://127.0.0.1:1');
  const { code, stderr } = await models('pull', 'whisper-small');
  t.is(code, 1);
  t.regex(stderr, /\nerror: 127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED.*; or copy it here by hand: /);
  t.true(stderr.endsWith(`http://127.0.0.1:1/small.bin to ${file}\n`));
});

test.serial('names URL and directory once if several files must be copied by hand', async t => {
  const { directory, models } = await checkout('http://127.0.0.1:1');
  const { stderr } = await models('pull', 'sherpa-large');
  const into = join(directory, 'data/plugins/sherpa-onnx/sherpa-large');
  t.true(stderr.endsWith(`by hand: small.bin, tokens.txt from http://127.0.0.1:1/ to ${into}\n`), stderr);
});

test.serial('downloads nothing that exceeds the free disk space', async t => {
  const { origin, asked } = await serveFiles(t, FILES);
  const { models } = await checkout(origin, 1e15);
  const { code, stderr } = await models('pull', 'whisper-small');
  t.is(code, 1);
  t.regex(stderr, /\nerror: it needs 1000000000 MB, and \/.*whisper-small has \d+ MB free\n$/);
  t.deepEqual(asked, []);
});

test.serial('suggests the name that was meant', async t => {
  const { models } = await checkout('http://127.0.0.1:1');
  for (const command of ['pull', 'remove']) {
    const { code, stderr } = await models(command, 'wisper-smal');
    t.is(code, 1);
    t.is(stderr, 'error: there is no model wisper-smal; did you mean whisper-small?\n');
  }
  t.regex((await models('pull', 'something else')).stderr, /earshot models list shows what there is/);
});
