import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { pino } from 'pino';
import { createPluginScope, inScope, scopeOf } from '../../../core/plugin-host/faults.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { coreProcess } from '../../helpers/core-process.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { countingStt } from '../../helpers/services.ts';

/** Errors that a third party's plugin may leave uncaught at run time. */
const RUDE = `
import { EventEmitter } from 'node:events';
import { connect } from 'node:net';

const FAULTS = {
  rejection: async () => { throw new Error('of a rejection'); },
  empty: () => { Promise.reject(undefined); },
  timer: () => { throw new Error('of a timer'); },
  event: () => { new EventEmitter().emit('error', new Error('of an event')); },
  socket: () => { connect(1, '127.0.0.1'); },
  state: ({ state }) => { state.get('x'.repeat(10_000)); },
};

export default {
  name: 'NAME', api: 1, title: 'Rude',
  async setup(context) {
    setTimeout(() => FAULTS['NAME'](context), 100);
    return { vad: { windowSize: 512, open() {} } };
  },
};
`;
const NAMES = ['rejection', 'empty', 'timer', 'event', 'socket', 'state'];

test('uncaught errors of plugins degrade them, and the third one disables them, while the server keeps running', async t => {
  const dir = await temporaryDirectory(t);
  const rude: Record<string, { use: string }> = {};
  for (const name of NAMES) {
    rude[name] = { use: join(dir, `${name}.mjs`) };
    await writeFile(rude[name].use, RUDE.replaceAll('NAME', name));
  }
  const { stt, plugins } = countingStt();
  const core = await coreProcess(t, { stt, plugins: { ...rude, ...plugins } });
  const told = new RegExp(`(${NAMES.join('|')}) let an error go uncaught.*?3rd time within 10 minutes`, 'g');
  await eventually(async () => {
    const log = await readFile(`${core.dataDir}.log`, 'utf8');
    t.is(core.process().exitCode, null, log.slice(-2000));
    return new Set([...log.matchAll(told)].map(([, name]) => name)).size === NAMES.length;
  });
  for (const name of NAMES)
    t.is(await core.metric(`earshot_plugin_state{plugin="${name}",state="degraded"}`), 1, name);
  t.is(await core.metric('earshot_plugin_state{plugin="counting",state="ready"}'), 1);
  t.deepEqual(await core.get('/v1/dev/user/conversations'), []);
  t.is(await core.stop(), 0);
});

test('a fault belongs to the plugin whose file threw it, otherwise to the one in whose scope it happened, unless it is ours', t => {
  const log = pino({ level: 'silent' });
  const scope = (name: string, module: string) => {
    const made = createPluginScope({ name, module, dir: '/' }, { clock: manualClock(), log });
    t.teardown(made.close);
    return made;
  };
  const file = scope('file', '/opt/acme.mjs');
  const packed = scope('packed', 'acme-stt');
  const thrownAt = (...places: string[]) =>
    Object.assign(new Error('x'), {
      stack: `Error: x\n${places.map(place => `    at f (${place}:1:2)`).join('\n')}`,
    });
  const ofCore = thrownAt(join(import.meta.dirname, '../../../core/runtime/jobs.ts'), '/opt/acme.mjs');
  const nameOf = (thrown: unknown) => scopeOf(thrown)?.name;

  t.is(nameOf(thrownAt('node:events', 'file:///opt/acme.mjs', '/elsewhere.js')), 'file');
  t.is(nameOf(thrownAt('/opt/acme/part.mjs')), 'file');
  t.is(nameOf(thrownAt('/srv/node_modules/acme-stt/lib/x.js')), 'packed');
  t.is(nameOf(thrownAt('/opt/other.mjs')), undefined);
  t.is(nameOf('no error'), undefined);
  file.run(() => {
    t.is(nameOf('no error'), 'file');
    t.is(nameOf(thrownAt('/srv/node_modules/library/x.js')), 'file');
    t.is(nameOf(thrownAt('/srv/node_modules/acme-stt/x.js')), 'packed');
    t.is(nameOf(ofCore), undefined, 'a callback of ours');
    t.is(nameOf(new AppError('invalid_request', 'refused')), 'file', 'what core refused it');
  });
  packed.close();
  packed.run(() => t.is(nameOf('no error'), undefined, 'of a plugin that is gone'));
});

test('functions of a plugin work the same in its scope', t => {
  class Channel {
    #prefix = 'to ';
    title = 'Acme';
    send(name: string) {
      return this.#prefix + name;
    }
    get long() {
      return `${this.#prefix}${this.title}`;
    }
  }
  const clock = manualClock();
  const scope = createPluginScope(
    { name: 'acme', module: '/acme.mjs', dir: '/' },
    { clock, log: pino({ level: 'silent' }) },
  );
  t.teardown(scope.close);
  const channel = inScope(scope, Object.freeze(new Channel()));
  t.is(channel.send('Ann'), 'to Ann');
  t.is(channel.long, 'to Acme');
  t.deepEqual({ ...channel }, { title: 'Acme' } as Channel);
  t.true('send' in channel);

  const told: string[] = [];
  scope.onFault = ({ code }) => told.push(code);
  for (const minutes of [0, 6, 6, 1, 1]) {
    clock.advance(minutes * 60_000);
    scope.fault(new Error('x'));
  }
  t.deepEqual(told, [...Array(3).fill('upstream_error'), 'config_error', 'config_error']);
});
