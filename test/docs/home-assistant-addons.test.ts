/** Checks the add-ons for Home Assistant against its published format, and against the program. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '../../config/load.ts';
import { ConfigSchema } from '../../config/schema.ts';
import { temporaryDirectory } from '../helpers/domain.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'docs/home-assistant');
const ADDONS = ['earshot', 'earshot-bridge'];

/** Option types that the Supervisor knows; `?`: optional. */
const Kind = z
  .string()
  .regex(
    /^(bool|email|url|port|(str|password|int|float)(\(\d*,\d*\))?|match\(.+\)|list\([^()]+\)|device(\(subsystem=[a-z]+\))?)\??$/,
  );
/** `ports` by container port; `null`: closed by default. */
const Ports = z.record(z.string().regex(/^\d{1,5}\/(tcp|udp)$/), z.number().int().nullable());
const Addon = z.strictObject({
  name: z.string().min(1),
  version: z.string(),
  slug: z.string().regex(/^[-_.A-Za-z0-9]+$/),
  description: z.string().min(1),
  arch: z.array(z.enum(['aarch64', 'amd64'])).min(1),
  startup: z.enum(['initialize', 'system', 'services', 'application', 'once']),
  boot: z.enum(['auto', 'manual', 'manual_only']),
  init: z.boolean(),
  webui: z
    .string()
    .regex(/^(https?|\[PROTO:\w+\]):\/\/\[HOST\]:\[PORT:\d+\]/)
    .optional(),
  watchdog: z
    .string()
    .regex(/^(https?|\[PROTO:\w+\]|tcp):\/\/\[HOST\]:(\[PORT:\d+\]|\d+)/)
    .optional(),
  ports: Ports.default({}),
  ports_description: z.record(z.string(), z.string()).default({}),
  host_network: z.boolean().default(false),
  host_dbus: z.boolean().default(false),
  privileged: z.array(z.enum(['NET_ADMIN', 'NET_RAW'])).default([]),
  backup: z.enum(['hot', 'cold']),
  timeout: z.number().int().min(10).max(300),
  options: z.record(z.string(), z.unknown()),
  schema: z.record(z.string(), z.union([Kind, z.array(Kind).length(1)])),
});
const Translation = z.strictObject({
  configuration: z.record(z.string(), z.strictObject({ name: z.string(), description: z.string() })),
  network: z.record(z.string(), z.string()).default({}),
});

const read = async (...path: string[]) => parse(await readFile(join(FOLDER, ...path), 'utf8'));

/** A valid value for such an option. */
function valueFor(name: string, kind: string): string {
  const values: Record<string, string> = {
    public_url: 'https://earshot.example',
    notifications__time_zone: 'Europe/Berlin',
    delivery__allow_hosts: 'homeassistant.local:8123',
    bridge__core: 'ws://earshot.local:8420',
    bridge__radios: 'bluez:hci1',
    bridge__language: 'de',
  };
  return values[name] ?? /^list\(([^|]+)/.exec(kind)?.[1] ?? 'kitchen';
}

/** Runs `run.mjs` with these options; resolves to the settings that the program sees. */
async function settingsOf(addon: string, folder: string, options: object): Promise<Record<string, string>> {
  const file = join(folder, 'options.json');
  await writeFile(file, JSON.stringify(options));
  const args = [join(FOLDER, addon, 'run.mjs'), process.execPath, '-p', 'JSON.stringify(process.env)'];
  const env = { PATH: process.env.PATH, OPTIONS_FILE: file, EARSHOT_DATA_DIR: join(folder, 'data') };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const all: Record<string, string> = JSON.parse(await text(child.stdout));
  return Object.fromEntries(Object.entries(all).filter(([name]) => name.startsWith('EARSHOT_')));
}

for (const name of ADDONS)
  test(`the add-on ${name} has the published format, and its options are settings of the program`, async t => {
    const addon = Addon.parse(await read(name, 'config.yaml'));
    const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    t.is(addon.version, manifest.version);
    const required = Object.entries(addon.schema).filter(([, kind]) => !String(kind).endsWith('?'));
    const open = required.map(([option]) => option).filter(option => !(option in addon.options));
    t.deepEqual(open, name === 'earshot' ? [] : ['bridge__key'], 'to be filled in before the first start');
    for (const option of Object.keys(addon.options)) t.true(option in addon.schema, option);

    const { configuration, network } = Translation.parse(await read(name, 'translations/en.yaml'));
    t.deepEqual(Object.keys(configuration), Object.keys(addon.schema));
    t.deepEqual(network, addon.ports_description);

    const folder = await temporaryDirectory(t);
    const given = Object.fromEntries(
      Object.entries(addon.schema).map(([option, kind]) => {
        const value = valueFor(option, String(kind));
        return [option, Array.isArray(kind) ? [value] : value];
      }),
    );
    const settings = await settingsOf(name, folder, given);
    for (const option of Object.keys(given)) t.true(`EARSHOT_${option.toUpperCase()}` in settings, option);
    const { config } = loadConfig({ cwd: folder, env: settings }); // rejects what the program does not know
    t.is(config.log.level, 'trace');
    t.is(config.dataDir, join(folder, 'data'));
    if (name === 'earshot') t.deepEqual(config.delivery.allowHosts, ['homeassistant.local:8123']);
    else t.deepEqual(config.bridge.radios, ['bluez:hci1']);

    const first = await settingsOf(name, folder, addon.options);
    t.notThrows(() => loadConfig({ cwd: folder, env: first }), 'as it is installed');
    t.false(Object.values(first).includes(''), 'empty options are not set');

    const dockerfile = await readFile(join(FOLDER, name, 'Dockerfile'), 'utf8');
    for (const [, file = ''] of dockerfile.matchAll(/^COPY ([\w.]+\.mjs) /gm))
      t.true(existsSync(join(FOLDER, name, file)), file);
    const [, variables = ''] = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile) ?? [];
    const fixed = Object.fromEntries(
      [...variables.matchAll(/(EARSHOT_\w+)=(\S+)/g)].map(([, key = '', value = '']) => [key, value]),
    );
    const loaded = loadConfig({ cwd: folder, env: fixed }).config;
    t.true(loaded.dataDir.startsWith('/data/'));
    if (name === 'earshot') {
      const port = Number(/\[PORT:(\d+)\]\/healthz$/.exec(addon.watchdog ?? '')?.[1]);
      t.deepEqual(addon.ports, { [`${ConfigSchema.parse({}).port}/tcp`]: port });
      t.is(loaded.host, '0.0.0.0');
      const [, mqtt] = /mqtt@(\S+)/.exec(dockerfile) ?? [];
      t.is(mqtt, manifest.peerDependencies.mqtt);
    }
    t.true(dockerfile.includes(`io.hass.version="${manifest.version}"`));
    const [, command = '[]'] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? [];
    const bins = [...Object.keys(manifest.bin), 'earshot-bridge'];
    t.true(JSON.parse(command).some((word: string) => bins.includes(word)));
  });

test('the runner of the add-ons passes signals and exit codes on, and both add-ons have the same', async t => {
  const [one, other] = await Promise.all(ADDONS.map(name => readFile(join(FOLDER, name, 'run.mjs'), 'utf8')));
  t.is(one, other);
  const folder = await temporaryDirectory(t);
  const file = join(folder, 'options.json');
  await writeFile(file, '{}');
  const program =
    "process.on('SIGTERM', () => process.exit(7)); console.log('up'); setInterval(() => {}, 1e6)";
  const child = spawn(process.execPath, [join(FOLDER, 'earshot/run.mjs'), process.execPath, '-e', program], {
    env: { PATH: process.env.PATH, OPTIONS_FILE: file, EARSHOT_DATA_DIR: join(folder, 'data') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  t.deepEqual(await once(child, 'exit'), [7, null]);
});

test('the repository of add-ons has a name', async t => {
  t.is((await read('repository.yaml')).name, 'Earshot');
});
