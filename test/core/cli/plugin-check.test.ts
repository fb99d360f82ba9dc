import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { encodeWav } from '../../../core/audio/pcm.ts';
import type { Finding } from '../../../plugins/kit/suites/report.ts';
import { command } from '../../helpers/cli.ts';
import { SPEECH } from '../../helpers/known-speech.ts';
import { oidcProvider } from '../../helpers/oidc-provider.ts';
import { startOpenAiServer } from '../../helpers/openai-server.ts';
import { isThorough } from '../../helpers/thorough.ts';
import { startWyomingServer } from '../../helpers/wyoming-server.ts';
import { writeGgmlToneModel } from '../../plugins/stt/ggml-tone-model.ts';
import { sounds, writeToneModel } from '../../plugins/stt/tone-model.ts';

async function directory(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-check-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

interface Outcome {
  code: number | null;
  stderr: string;
  findings: Finding[];
  /** `group: title` of each failed check. */
  failed: string[];
}

async function check(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const { code, stdout, stderr } = await command(['plugin', 'check', ...args, '--json'], env);
  const { findings }: { findings: Finding[] } = JSON.parse(stdout);
  const failed = findings.filter(({ verdict }) => verdict === 'failed');
  return { code, stderr, findings, failed: failed.map(({ group, title }) => `${group}: ${title}`) };
}

// ── those that come along ───────────────────────────────────────────────────────────────────────────────────────

type Speech = { samples: Int16Array; text: string };
const TONES = ['low high low', 'high high low low high'].map(text => ({ text, samples: sounds(text) }));

/** Speech that the tests' servers or tiny models recognise, as options of the command. */
async function knownSpeech(t: ExecutionContext, speech: Speech[] = SPEECH): Promise<string[]> {
  const dir = await directory(t);
  const pairs = speech.map(async ({ samples, text }, index) => {
    const file = join(dir, `${index}.wav`);
    await writeFile(file, encodeWav(samples));
    return ['--speech', file, '--text', text];
  });
  return (await Promise.all(pairs)).flat();
}

async function optionsFile(t: ExecutionContext, options: unknown): Promise<string[]> {
  const file = join(await directory(t), 'options.yaml');
  await writeFile(file, stringify(options));
  return ['--options', file];
}

function passes(t: ExecutionContext, { code, findings, failed, stderr }: Outcome, suite: string): void {
  t.deepEqual(failed, [], JSON.stringify(findings.filter(({ verdict }) => verdict !== 'ok')));
  t.is(code, 0, stderr);
  t.true(findings.filter(({ group }) => group === suite).length > 3, suite);
  t.true(findings.some(({ title }) => title === 'leaves nothing behind after its work'));
}

const QUICK = { silero: 'vad', local: 'identity' };
/** They take half a minute; the plugins' own tests run the same suites. */
const LONG = { sql: 'storage', pocketsphinx: 'stt' };
function testLong(title: string, run: (t: ExecutionContext) => Promise<void>): void {
  if (isThorough) test.serial(title, run);
}

for (const [name, suite] of Object.entries({ ...QUICK, ...(isThorough ? LONG : {}) })) {
  test.serial(`the built-in ${name} passes`, async t => {
    passes(t, await check([name]), suite);
  });
}

test.serial('the built-in openai passes, by its path, on a separate server', async t => {
  const server = await startOpenAiServer();
  t.teardown(server.close);
  const options = await optionsFile(t, { baseUrl: server.baseUrl });
  passes(t, await check(['./plugins/stt/openai/index.ts', ...options, ...(await knownSpeech(t))]), 'stt');
});

test.serial(
  'the built-in wyoming passes on a separate server; options can be given as variables',
  async t => {
    const server = await startWyomingServer();
    t.teardown(server.close);
    const env = { EARSHOT_PLUGINS__WYOMING__PORT: String(server.port), EARSHOT_PORT: 'not looked at' };
    passes(t, await check(['wyoming', ...(await knownSpeech(t))], env), 'stt');
  },
);

testLong('the built-in sherpa-onnx passes, with a model of a few sounds', async t => {
  const dir = await directory(t);
  const files = await writeToneModel(dir);
  const own = {
    kind: 'zipformer2-ctc',
    languages: ['en'],
    files: { model: 'tones.onnx', tokens: 'tokens.txt' },
    sha256: { model: files['tones.onnx']?.sha256, tokens: files['tokens.txt']?.sha256 },
  };
  const options = await optionsFile(t, { directory: dir, own });
  passes(t, await check(['sherpa-onnx', ...options, ...(await knownSpeech(t, TONES))]), 'stt');
});

testLong('the built-in whisper passes, with a model of a few sounds', async t => {
  const model = join(await directory(t), 'tones.bin');
  await writeGgmlToneModel(model);
  const options = await optionsFile(t, { model, numThreads: 1 });
  passes(t, await check(['whisper', ...options, ...(await knownSpeech(t, TONES))]), 'stt');
});

test.serial(
  'the built-in oidc passes with a provider, and is not tested for what it does not do',
  async t => {
    const { issuer } = await oidcProvider(t);
    const options = await optionsFile(t, { issuer, audience: ['earshot'], allow: ['anyone'] });
    const { code, failed, findings } = await check(['oidc', ...options]);
    t.deepEqual(failed, []);
    t.is(code, 0);
    t.deepEqual(
      findings.filter(({ group }) => group === 'identity').map(({ title }) => title),
      ['can be tested', 'refuses text that is no token, with unauthorized'],
    );
    t.true(findings.some(({ title }) => title === 'leaves nothing behind after its work'));
  },
);

// ── those that are broken in one way ────────────────────────────────────────────────────────────────────────────

interface Parts {
  before?: string;
  setup?: string;
  fields?: string;
  name?: string;
}

/** A correct identity provider; the parts introduce mistakes. */
function source({ before = '', setup = '', fields = '', name = 'acme' }: Parts): string {
  return `import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { Worker } from 'node:worker_threads';
const encode = value => Buffer.from(JSON.stringify(value)).toString('base64url');
${before}
export default {
  name: '${name}', api: 1, title: 'Acme',
  ${fields}
  async setup({ onStop, error, options, clock, dataDir }) {
    ${setup}
    const sign = text => createHmac('sha256', dataDir).update(text).digest('base64url');
    return { identity: {
      issuer: 'acme',
      async issue(user) {
        const expiresAt = clock.now() + 3600_000;
        const claims = encode({ ...user, issuer: 'acme', issuedAt: clock.now(), expiresAt });
        return { token: claims + '.' + sign(claims), expiresAt };
      },
      async verify(token) {
        const [claims, signature] = token.split('.');
        if (!claims || signature !== sign(claims)) throw error('unauthorized', 'no');
        const verified = JSON.parse(Buffer.from(claims, 'base64url').toString());
        if (verified.expiresAt <= clock.now()) throw error('unauthorized', 'too late');
        return verified;
      },
    } };
  },
};
`;
}

async function checkBroken(t: ExecutionContext, parts: Parts, args: string[] = []): Promise<Outcome> {
  const file = join(await directory(t), 'acme.mjs');
  await writeFile(file, source(parts));
  return check([file, ...args]);
}

test.serial('a correct plugin passes', async t => {
  passes(t, await checkBroken(t, {}), 'identity');
});

interface Fault extends Parts {
  fails: string;
  says: RegExp;
  args?: string[];
}

/** One of each kind; each costs the start of a process. */
const FAULTS: Record<string, Fault> = {
  'does not load': {
    before: "throw new Error('no engine here');",
    fails: 'module: loads, and has the shape of a plugin',
    says: /^no engine here, in \S+acme\.mjs$/,
  },
  'needs options that were not given': {
    fields: "options: z => z.object({ url: z.url().describe('Where') }),",
    fails: 'options: are valid',
    says: /^plugins\.acme\.url is required: Where; set it, or EARSHOT_PLUGINS__ACME__URL; for this check, give it with --options FILE\.yaml$/,
  },
  'hangs in setup': {
    setup: 'await new Promise(() => {});',
    fails: 'life: starts',
    says: /setup did not finish within 30000 ms/,
  },
  'holds the thread': {
    setup: 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);', // as a loop does, without its processor time
    args: ['--limit', '20'], // a slow machine needs 4 s for the checks before it
    fails: 'life: starts',
    says: /nothing more came within 20 s: it holds the thread/,
  },
  'leaks a timer': {
    setup: 'setInterval(() => {}, 60_000);',
    fails: 'life: leaves nothing behind',
    says: /a timer \(opened at .*acme\.mjs:\d+\); close it in onStop/,
  },
  'does not start twice': {
    before: 'let runs = 0;',
    setup: "if (runs++ > 0) throw new Error('port taken');",
    fails: 'life: starts again',
    says: /port taken/,
  },
  'throws where nobody catches': {
    setup: "onStop(() => void setTimeout(() => { throw new Error('too late'); }, 20));",
    fails: 'life: leaves no error uncaught',
    says: /^too late \(at \S+acme\.mjs:\d+\)$/,
  },
  'exits the process': {
    setup: "console.log('bye'); process.exit(0);",
    fails: 'life: starts',
    says: /ended with status 0: .*never calls process\.exit; it said: bye/,
  },
  'tells of a fault without its cure': {
    fields: "diagnose: async () => [{ what: 'licence', level: 'bad', detail: 'is over', cure: null }],",
    fails: 'doctor: its diagnosis is valid',
    says: /diagnose of acme: 0 is wrong without a cure/,
  },
  'breaks what its capability promises': {
    setup:
      "return { identity: { issuer: 'acme', verify: async () => ({ issuer: 'acme', subject: 'u', name: 'n' }) } };",
    fails: 'identity: refuses text that is no token, with unauthorized',
    says: /it accepted this: the promise resolved, but has to reject/,
  },
};

/** Found by the same checks as those above. */
const MORE_FAULTS: Record<string, Fault> = {
  'has the wrong shape': {
    fields: 'api: 2,',
    fails: 'module: loads, and has the shape of a plugin',
    says: /api must be 1, not 2/,
  },
  'takes a name that is built in': {
    name: 'silero',
    fails: 'module: has a name of its own',
    says: /silero is built in; give yours a name of its own/,
  },
  'has options that are no schema': {
    fields: 'options: () => 42,',
    fails: 'options: has a schema',
    says: /made with the zod/,
  },
  'fails on an empty configuration': {
    fields: "options: z => z.object({}).transform(() => { throw new TypeError('no section'); }),",
    fails: 'options: has defaults, or a clear error without options',
    says: /no section/,
  },
  'does not describe an option': {
    fields:
      "options: z => z.object({ url: z.string().default('x'), speed: z.number().default(1).describe('How fast') }),",
    fails: 'options: have descriptions',
    says: /^url has no description; add \.describe/,
  },
  'takes the name of a built-in webhook': {
    setup: "return { webhook: { type: 'realtime_transcript', trigger: 'day', render: () => null } };",
    fails: 'life: starts',
    says: /^acme gives the webhook realtime_transcript, which transcript-processed gives already: rename/,
  },
  'leaks a process': {
    setup: "spawn('sleep', ['60'], { stdio: 'ignore' }).unref();",
    fails: 'life: leaves nothing behind',
    says: /a child process \(opened at .*acme\.mjs/,
  },
  'leaks a thread': {
    setup: "new Worker('setInterval(() => {}, 1000)', { eval: true }).unref();",
    fails: 'life: leaves nothing behind',
    says: /a worker thread \(opened at .*acme\.mjs/,
  },
  'throws when it stops': {
    setup: "onStop(() => { throw new Error('cannot let go'); });",
    fails: 'life: stops',
    says: /a handler that it passed to onStop failed: cannot let go/,
  },
  'crashes the process': {
    setup: 'process.abort();',
    fails: 'life: starts',
    says: /died of SIGABRT: native code/,
  },
};

for (const [fault, { fails, says, args, ...parts }] of Object.entries({
  ...FAULTS,
  ...(isThorough ? MORE_FAULTS : {}),
})) {
  test.serial(`a plugin that ${fault} is detected and named`, async t => {
    const { code, failed, findings, stderr } = await checkBroken(t, parts, args);
    t.is(code, 1);
    t.true(failed.includes(fails), JSON.stringify(findings));
    t.regex(
      findings.find(({ group, title }) => `${group}: ${title}` === fails && failed.includes(fails))?.detail ??
        '',
      says,
    );
    t.regex(stderr, /^error: .*acme\.mjs: \d+ of \d+ checks failed\n$/);
  });
}

test.serial('a secret among the options may be in a file next to theirs', async t => {
  const parts = {
    fields: "options: z => z.strictObject({ apiKey: z.string().describe('Key').meta({ secret: true }) }),",
    setup: "if (options.apiKey !== 'topsecret') throw new Error('wrong key');",
  };
  const args = await optionsFile(t, { apiKeyFile: 'acme.key' });
  const missing = await checkBroken(t, parts, args);
  t.deepEqual(missing.failed, ['options: are valid']);
  t.regex(
    missing.findings.find(({ verdict }) => verdict === 'failed')?.detail ?? '',
    /options\.yaml:1: plugins\.acme\.apiKeyFile: the file acme\.key cannot be read \(ENOENT\)$/,
  );

  await writeFile(join(dirname(args[1] ?? ''), 'acme.key'), 'topsecret\n');
  passes(t, await checkBroken(t, parts, args), 'identity');
});

test.serial('an option that looks like a secret is only a warning', async t => {
  const fields = "options: z => z.object({ apiKey: z.string().default('k').describe('Key') }),";
  const { code, findings } = await checkBroken(t, { fields });
  t.is(code, 0);
  const finding = findings.find(({ title }) => title === 'secrets are marked');
  t.like(finding, {
    verdict: 'warning',
    detail: 'apiKey looks like a secret; add .meta({ secret: true }), or it will be printed',
  });
});

test.serial('a recogniser without English names the speech it needs', async t => {
  const setup = `const transcribe = async function* () {};
    return { stt: { sampleRate: 16000, languages: ['de'], model: null,
      open: async () => ({ transcribe, failed: new Promise(() => {}), close: async () => {} }) } };`;
  const first = await checkBroken(t, { setup });
  t.deepEqual(first.failed, ['stt: can be tested']);
  t.regex(
    first.findings.find(({ verdict }) => verdict === 'failed')?.detail ?? '',
    /--language de --speech FILE\.wav --text/,
  );

  const second = await checkBroken(t, { setup }, ['--language', 'de', ...(await knownSpeech(t))]);
  t.true(
    second.failed.includes('stt: recognises what was said, in ordered final pieces inside the utterance'),
  );
});

test.serial('for people, each check is a line, followed by its errors', async t => {
  const file = join(await directory(t), 'acme.mjs');
  await writeFile(file, source({ fields: 'api: 2,' }));
  const { code, stdout, stderr } = await command(['plugin', 'check', file]);
  t.is(code, 1);
  t.is(stdout, `✗ module: loads, and has the shape of a plugin\n    api must be 1, not 2, in ${file}\n`);
  t.is(stderr, `error: ${file}: 1 of 1 checks failed\n`);
});

const BELL = `export default {
  name: 'bell', api: 1, title: 'Bell',
  setup: () => ({ notify: {
    address: z => z.strictObject({ url: z.url().describe('Where'), pin: z.number().describe('PIN') }),
    send: async () => { throw new RangeError('no bell'); },
  } }),
};`;

test.serial('a wrong address is reported once, with file and line, and nothing is sent', async t => {
  const dir = await directory(t);
  const file = join(dir, 'bell.mjs');
  await writeFile(file, BELL);
  const address = join(dir, 'mine.yaml');
  await writeFile(address, 'pin: four\nurl: ftp://192.168.1.2/\n');
  const typo = await check([file, '--address', address]);
  t.deepEqual(typo.failed, ['notify: can be tested']);
  t.regex(typo.findings.find(({ verdict }) => verdict === 'failed')?.detail ?? '', /^\S+mine\.yaml:1: pin: /);

  await writeFile(address, 'pin: 4\nurll: x\n');
  const unknown = await check([file, '--address', address]);
  t.regex(
    unknown.findings.find(({ verdict }) => verdict === 'failed')?.detail ?? '',
    /^\S+mine\.yaml:2: urll: is not a field of this address; did you mean url\?$/,
  );

  await writeFile(address, 'pin: 4\nurl: "https://x\n');
  const broken = await check([file, '--address', address]);
  t.deepEqual(broken.failed, ['options: are valid']);
  t.regex(broken.findings.find(({ verdict }) => verdict === 'failed')?.detail ?? '', /^\S+mine\.yaml:\d: /);

  const nowhere = await check([file, '--options', join(dir, 'nowhere.yaml')]);
  t.regex(
    nowhere.findings.find(({ verdict }) => verdict === 'failed')?.detail ?? '',
    /nowhere\.yaml: there is no such file$/,
  );
});

test.serial('checks that depend on a failed one are not run, which is reported once', async t => {
  const dir = await directory(t);
  const file = join(dir, 'bell.mjs');
  await writeFile(file, BELL);
  const address = join(dir, 'mine.yaml');
  await writeFile(address, 'pin: 4\nurl: https://bell.example/\n');
  const { failed, findings, stderr } = await check([file, '--address', address]);
  t.deepEqual(failed, ['notify: sends a notification once']);
  t.regex(
    findings.find(({ verdict }) => verdict === 'failed')?.detail ?? '',
    /^no bell \(at \S+bell\.mjs:5\)$/,
  );
  const skipped = findings.filter(({ verdict }) => verdict === 'skipped');
  t.deepEqual(skipped, [
    {
      ...{ group: 'notify', verdict: 'skipped', skipped: 8, title: '8 checks were not run' },
      detail: 'they need a check that failed: "sends a notification once"',
    },
  ]);
  t.regex(stderr, /: 1 of 33 checks failed\n$/);

  const bare = join(dir, 'bare.mjs');
  await writeFile(
    bare,
    BELL.replace(".describe('Where')", '')
      .replace('pin:', 'token:')
      .replace(/z.strictObject/, ''),
  );
  const wrong = await check([bare, '--address', address]);
  t.regex(
    wrong.findings.find(({ verdict }) => verdict === 'failed')?.detail ?? '',
    /address\(\) does not return an object schema made with the zod that it was given/,
  );

  const useless = await checkBroken(t, {}, ['--address', address]);
  t.deepEqual(useless.failed, ['options: --address is supported']);
  t.regex(
    useless.findings.find(({ verdict }) => verdict === 'failed')?.detail ?? '',
    /^it provides identity, which takes no address: only channels and calendars do; leave --address out$/,
  );
});

test.serial('a rejection that nobody awaits is reported once, with its line', async t => {
  const { failed, findings } = await checkBroken(t, { setup: "void Promise.reject(new Error('astray'));" });
  t.deepEqual(failed, ['life: leaves no error uncaught']);
  t.regex(
    findings.find(({ verdict }) => verdict === 'failed')?.detail ?? '',
    /^astray \(at \S+acme\.mjs:\d+\)$/,
  );
});

test.serial('a missing file or package is reported with the way out', async t => {
  const { findings } = await check(['earshot-plugin-nowhere']);
  t.regex(
    findings[0]?.detail ?? '',
    /^no package earshot-plugin-nowhere is installed in .*; install it there, or give a file as a path, such as \.\/earshot-plugin-nowhere\.mjs$/,
  );
  const typo = await check(['notify/acme.ts']);
  t.regex(
    typo.findings[0]?.detail ?? '',
    /^there is neither a file notify\/acme\.ts in \S+ nor an installed package of that name$/,
  );
  const { code, stderr } = await command(['plugin', 'check', 'local', '--speech', 'a.wav']);
  t.deepEqual([code, stderr], [1, 'error: each --speech needs a --text\n']);
});

test('a channel without an address is tested as far as possible, and says how to supply one', async t => {
  const { code, failed, findings } = await check(['webhook']);
  t.not(code, 0);
  t.deepEqual(failed, ['notify: sends notifications']);
  t.regex(findings.find(({ verdict }) => verdict === 'failed')?.detail ?? '', /--address FILE\.yaml/);
  const told = findings.map(({ title }) => title);
  t.true(told.includes('describes each field of an address'));
});
