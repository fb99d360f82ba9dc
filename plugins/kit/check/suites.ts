import type { Capabilities, LanguageModel, SttProvider } from '../../../core/contract/plugin.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { schemaOf } from '../suites/address.ts';
import { calendarChecks } from '../suites/calendar.ts';
import { embedderChecks } from '../suites/embedder.ts';
import { type IdentitySubject, identityChecks } from '../suites/identity.ts';
import { llmChecks, visionChecks } from '../suites/llm.ts';
import { channelChecks } from '../suites/notify.ts';
import { pageChecks } from '../suites/page.ts';
import type { CheckRequest, SuiteCheck } from '../suites/report.ts';
import { speakersChecks } from '../suites/speakers.ts';
import { bundledSpeech, readSpeech, type Speech } from '../suites/speech.ts';
import { type StorageSubject, storageChecks } from '../suites/storage.ts';
import { sttChecks } from '../suites/stt.ts';
import { translatorChecks } from '../suites/translator.ts';
import { needsModelCheck, understandingChecks } from '../suites/understanding.ts';
import { vadChecks } from '../suites/vad.ts';
import { type VectorsSubject, vectorsChecks } from '../suites/vectors.ts';
import { webhookChecks } from '../suites/webhook.ts';
import { readAddress } from './given.ts';
import type { Run, Sandbox } from './sandbox.ts';

type BoundCheck = SuiteCheck<void>;

interface Tried {
  run: Run;
  sandbox: Sandbox;
  request: CheckRequest;
}

/** Accepted share of wrong words: the check is about the contract, not about quality. */
const WORD_ERRORS = 0.5;

/** The suites by capability, prepared for the plugin under test. */
export const SUITES: { [C in keyof Capabilities]?: (tried: Tried) => Promise<BoundCheck[]> } = {
  async stt({ run, sandbox, request }) {
    const provider = run.host.get('stt', sandbox.plugin.name);
    checkLanguage(provider.languages, request);
    const speech = await speechOf(request);
    const subject = {
      provider,
      language: request.language,
      speech: speech.map(each => ({ ...each, wordErrors: WORD_ERRORS })),
    };
    return sttChecks.filter(check => !check.needsCrash).map(check => bind(check, subject));
  },
  async vad({ run, sandbox, request }) {
    const [first] = await speechOf(request);
    if (!first) throw new AppError('internal', 'there is no speech to try it with');
    const subject = { provider: run.host.get('vad', sandbox.plugin.name), speech: first.samples };
    return vadChecks.map(check => bind(check, subject));
  },
  async embedder({ run, sandbox }) {
    const subject = { embedder: run.host.get('embedder', sandbox.plugin.name) };
    return embedderChecks.map(check => bind(check, subject));
  },
  async llm({ run, sandbox }) {
    const subject = { llm: run.host.get('llm', sandbox.plugin.name) };
    return llmChecks.map(check => bind(check, subject));
  },
  async vision({ run, sandbox }) {
    const subject = { vision: run.host.get('vision', sandbox.plugin.name) };
    return visionChecks.map(check => bind(check, subject));
  },
  async understanding({ run, sandbox }) {
    const subject = { understanding: run.host.get('understanding', sandbox.plugin.name) };
    if (subject.understanding.needsModel) return [bind(needsModelCheck, subject)];
    return understandingChecks.map(check => bind(check, subject));
  },
  async speakers({ run, sandbox, request }) {
    const [first, second] = await speechOf(request);
    if (!first || !second) throw new AppError('internal', 'there is no speech to try it with');
    const half = Math.floor(first.samples.length / 2);
    const subject = {
      speakers: run.host.get('speakers', sandbox.plugin.name),
      speech: { one: first.samples.slice(0, half), again: first.samples.slice(half), other: second.samples },
    };
    return speakersChecks.map(check => bind(check, subject));
  },
  async translator({ run, sandbox }) {
    const translator = run.host.get('translator', sandbox.plugin.name);
    const models = translator.needsModel ? [ECHO] : [];
    return translatorChecks.map(check => bind(check, { translator, models }));
  },
  async notify({ run, sandbox, request }) {
    const channel = run.host.get('notify', sandbox.plugin.name);
    const hasAddress = schemaOf(channel).safeParse({}).success || request.address !== null;
    const address = hasAddress ? readAddress(channel, request.address, sandbox.checkUrl) : {};
    const due = channelChecks.filter(({ alone }) => alone || hasAddress);
    const bound = due.map(check => bind(check, { channel, address }));
    return hasAddress ? bound : [...bound, { title: 'sends notifications', run: wantAddress }];
  },
  async calendar({ run, sandbox, request }) {
    const outlet = run.host.get('calendar', sandbox.plugin.name);
    const hasAddress = schemaOf(outlet).safeParse({}).success || request.address !== null;
    const address = hasAddress ? readAddress(outlet, request.address, sandbox.checkUrl) : {};
    const due = calendarChecks.filter(({ alone }) => alone || hasAddress);
    const bound = due.map(check => bind(check, { outlet, address }));
    return hasAddress ? bound : [...bound, { title: 'stores entries', run: wantAddress }];
  },
  async page({ run, sandbox }) {
    const subject = { page: run.host.get('page', sandbox.plugin.name) };
    return pageChecks.map(check => bind(check, subject));
  },
  async identity({ run, sandbox }) {
    const provider = run.host.get('identity', sandbox.plugin.name);
    const due = identityChecks.filter(({ needs }) => needs === undefined || provider[needs] !== undefined);
    return due.map(check => ({
      ...check,
      run: () => withOthers(run, sandbox, subject => check.run(subject)),
    }));
  },
  async vectors({ sandbox }) {
    return vectorsChecks.map(check => ({
      ...check,
      run: () => withVectors(sandbox, subject => check.run(subject)),
    }));
  },
  async webhook({ run, sandbox }) {
    const subject = { webhook: run.host.get('webhook', sandbox.plugin.name) };
    return webhookChecks.map(check => bind(check, subject));
  },
  async storage({ sandbox }) {
    return storageChecks.map(check => ({
      ...check,
      run: () => withStorage(sandbox, subject => check.run(subject)),
    }));
  },
};

/** A language model that echoes its input, which suffices to test how answers are handled. */
const ECHO: LanguageModel = {
  model: 'echo',
  async object(schema, { user, signal }) {
    await new Promise(resolve => setImmediate(resolve));
    signal.throwIfAborted();
    return schema.parse({ translation: user });
  },
  async *text({ user }) {
    yield user;
  },
};

function bind<Subject>(check: SuiteCheck<Subject>, subject: Subject): BoundCheck {
  return { ...check, run: () => check.run(subject) };
}

function checkLanguage(languages: SttProvider['languages'], { language }: CheckRequest): void {
  if (languages === 'any' || languages.includes(language) || languages.includes('multi')) return;
  throw new AppError(
    'config_error',
    `it has ${languages.join(', ')}, not ${language}; give speech in one of these: ` +
      `--language ${languages[0]} --speech FILE.wav --text "what is said in it"`,
  );
}

async function wantAddress(): Promise<void> {
  throw new AppError('config_error', 'needs an address of yours: --address FILE.yaml');
}

/** Returns at least two recordings, since the suite has two people speak at once. */
async function speechOf({ speech, language }: CheckRequest): Promise<Speech[]> {
  if (speech.length === 0) {
    if (language === 'en') return bundledSpeech();
    throw new AppError(
      'config_error',
      `our own speech is English; add --speech FILE.wav --text "…" in ${language}`,
    );
  }
  const own = await Promise.all(speech.map(readSpeech));
  return own.length > 1 ? own : [...own, ...own];
}

/** Gives each check an empty directory. */
async function withVectors(
  sandbox: Sandbox,
  work: (subject: VectorsSubject) => Promise<void>,
): Promise<void> {
  const dataDir = await sandbox.directory();
  let run: Run | null = null;
  const start = async () => {
    await run?.stop();
    run = await sandbox.start(dataDir);
    return run.host.get('vectors', sandbox.plugin.name);
  };
  try {
    await work({ index: await start(), restart: start });
  } finally {
    await (run as Run | null)?.stop(); // the compiler does not see that start sets it
  }
}

/** Opens further providers of the same kind for a check, and closes them after it. */
async function withOthers(
  { host, dataDir }: Run,
  sandbox: Sandbox,
  work: (subject: IdentitySubject) => Promise<void>,
): Promise<void> {
  const { name } = sandbox.plugin;
  const runs: Run[] = [];
  const open = async (...where: Parameters<Sandbox['start']>) => {
    const run = await sandbox.start(...where);
    runs.push(run);
    return run.host.get('identity', name);
  };
  try {
    await work({
      provider: host.get('identity', name),
      later: ms => open(dataDir, ms),
      stranger: async () => open(await sandbox.directory()),
    });
  } finally {
    for (const run of runs) await run.stop();
  }
}

/** Gives each check an empty database. */
async function withStorage(
  sandbox: Sandbox,
  work: (subject: StorageSubject) => Promise<void>,
): Promise<void> {
  const dataDir = await sandbox.directory();
  const runs: Run[] = [];
  async function open() {
    const run = await sandbox.start(dataDir);
    runs.push(run);
    return run.host.get('storage', sandbox.plugin.name);
  }
  const close = async () => {
    for (const run of runs.splice(0)) await run.stop();
  };
  try {
    const storage = await open();
    await storage.migrate();
    await refuseUsed(storage);
    await work({ storage, another: open, close });
  } finally {
    await close();
  }
}

async function refuseUsed(storage: StorageSubject['storage']): Promise<void> {
  if ((await storage.users.list()).length === 0) return;
  throw new AppError(
    'config_error',
    'it is not empty: each check needs a database of its own, so leave its data in dataDir; ' +
      'for a database on a server run plugins/kit/suites/storage.ts in tests of your own',
  );
}
