/** Checks the container files against the program, without a container engine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '../../config/load.ts';
import { ConfigSchema } from '../../config/schema.ts';
import { temporaryDirectory } from '../helpers/domain.ts';
import { freePort } from '../helpers/free-port.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'docs/containers');
const PORT = ConfigSchema.parse({}).port;
/** Seconds that the server has for its stop. */
const STOP_S = 10;

const Service = z.object({
  build: z.object({ context: z.string(), dockerfile: z.string() }).optional(),
  image: z.string(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  tmpfs: z.array(z.string()).default([]),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  stop_grace_period: z.string().optional(),
  depends_on: z.union([z.array(z.string()), z.record(z.string(), z.unknown())]).default([]),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
});
const Compose = z.object({
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.null()),
});

const compose = async (name: string) => Compose.parse(parse(await readFile(join(FOLDER, name), 'utf8')));
const containerfile = () => readFile(join(ROOT, 'Containerfile'), 'utf8');

/** Instructions of a Containerfile, its continued lines joined. */
async function instructions(): Promise<{ name: string; rest: string }[]> {
  const lines = (await containerfile()).replace(/^#.*\n/gm, '').replace(/\\\n\s*/g, '');
  return lines
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => {
      const [name = '', ...rest] = line.split(' ');
      return { name, rest: rest.join(' ') };
    });
}

async function all(name: string): Promise<string[]> {
  return (await instructions()).filter(each => each.name === name).map(({ rest }) => rest);
}

/** Variables that `ENV` sets. */
async function variables(): Promise<Record<string, string>> {
  const text = (await all('ENV')).join(' ');
  return Object.fromEntries(
    [...text.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
  );
}

for (const file of ['compose.yaml', 'compose-full.yaml'])
  test(`${file} names files, ports, volumes and settings that exist`, async t => {
    const { services, volumes } = await compose(file);
    for (const [name, service] of Object.entries(services)) {
      const { build, environment, ports, depends_on: needed } = service;
      if (build) {
        const context = resolve(FOLDER, build.context);
        t.is(context, ROOT);
        t.true(existsSync(join(context, build.dockerfile)));
      }
      for (const volume of service.volumes) {
        const [from = '', to = ''] = volume.split(':');
        if (from.startsWith('.')) t.true(existsSync(resolve(FOLDER, from)), `${name}: ${from}`);
        else t.true(from in volumes, `${name}: ${from}`);
        t.true(posix.isAbsolute(to), `${name}: ${to}`);
      }
      for (const other of Array.isArray(needed) ? needed : Object.keys(needed)) {
        t.true(other in services, `${name} needs ${other}`);
        const condition = Array.isArray(needed) ? null : JSON.stringify(needed[other]);
        if (condition?.includes('healthy'))
          t.truthy(services[other]?.healthcheck, `${other} has a health check`);
      }
      if (name !== 'earshot') continue;
      for (const port of ports) t.is(Number(port.split(':').at(-1)), PORT);
      t.true(service.read_only && service.cap_drop.includes('ALL') && service.tmpfs.includes('/tmp'));
      t.true(Number.parseInt(service.stop_grace_period ?? '', 10) > STOP_S);
      const config = environment.EARSHOT_CONFIG;
      t.true(config === undefined || service.volumes.some(volume => volume.includes(`:${config}:`)));
      // also rejects unknown keys and variables
      const env = Object.fromEntries(
        Object.entries({ ...(await variables()), ...environment }).map(([key, value]) => [
          key,
          value.replace(/\$\{DOMAIN:[^}]*\}/, 'earshot.example').replace(/\$\{\w+:[^}]*\}/, 'a secret'),
        ]),
      );
      if (config) env.EARSHOT_CONFIG = join(FOLDER, 'earshot.yaml');
      const loaded = loadConfig({ cwd: await temporaryDirectory(t), env });
      t.is(loaded.config.dataDir, '/data');
      t.is(loaded.config.host, '0.0.0.0');
      t.is(loaded.config.port, PORT);
      t.true(service.volumes.includes('earshot:/data'));
    }
    for (const volume of Object.keys(volumes))
      t.true(
        Object.values(services).some(service => service.volumes.some(each => each.startsWith(`${volume}:`))),
        volume,
      );
  });

test('the configuration of compose-full.yaml reaches its other services', async t => {
  const { services } = await compose('compose-full.yaml');
  const { config } = loadConfig({
    cwd: await temporaryDirectory(t),
    env: {},
    file: join(FOLDER, 'earshot.yaml'),
  });
  const text = await readFile(join(FOLDER, 'earshot.yaml'), 'utf8');
  const hosts = [...text.matchAll(/http:\/\/(\w+):\d+/g)].map(([, host = '']) => host);
  t.deepEqual(hosts, ['qdrant', 'ollama']);
  for (const host of [...hosts, String(Object(config.plugins.sql).host)]) t.true(host in services, host);
  t.is(Object(config.plugins.sql).user, services.postgres?.environment.POSTGRES_USER);
  const caddy = await readFile(join(FOLDER, 'Caddyfile'), 'utf8');
  const [, host = '', port] = /reverse_proxy (\w+):(\d+)/.exec(caddy) ?? [];
  t.true(host in services);
  t.is(Number(port), PORT);
  for (const [, name = ''] of caddy.matchAll(/\{\$(\w+)\}/g))
    t.true(name in (services.caddy?.environment ?? {}), name);
});

test('the quadlet and the Containerfile agree with the program on port, folder, account and packages', async t => {
  const quadlet = await readFile(join(FOLDER, 'earshot.container'), 'utf8');
  t.regex(quadlet, new RegExp(`^PublishPort=127\\.0\\.0\\.1:${PORT}:${PORT}$`, 'm'));
  t.regex(quadlet, /^Volume=earshot:\/data$/m);
  t.regex(quadlet, /^ReadOnly=true$/m);
  t.regex(quadlet, /^PodmanArgs=.*--tmpfs=\/tmp$/m);
  t.true(Number(/--stop-timeout=(\d+)/.exec(quadlet)?.[1]) > STOP_S);

  const env = await variables();
  t.deepEqual(await all('EXPOSE'), [String(PORT)]);
  t.deepEqual(await all('VOLUME'), [env.EARSHOT_DATA_DIR]);
  t.deepEqual(await all('USER'), ['10001:10001']);
  t.regex(await containerfile(), /install -d -m 0700 -o 10001 -g 10001 \/data/);
  for (const copied of await all('COPY')) {
    const [source = ''] = copied.split(' ').filter(word => !word.startsWith('--'));
    const isBuilt = copied.includes('--from=build');
    t.true(isBuilt ? (await containerfile()).includes(` ${source}`) : existsSync(join(ROOT, source)), source);
  }
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const [build = '', install = ''] = await all('RUN');
  const [, script = ''] = /npm run (\S+) --/.exec(build) ?? [];
  t.truthy(manifest.scripts[script], script);
  t.true((await readFile(join(ROOT, 'config/pack.mjs'), 'utf8')).includes("'--into'"));
  const packages = [...install.matchAll(/(\S+)@(\d\S*)/g)].map(([, name = '', wanted]) => [name, wanted]);
  t.deepEqual(
    packages,
    packages.map(([name]) => [name, manifest.peerDependencies[name ?? '']]),
  );
  t.is(packages.length, 2);
  const base = /node:(\d+)-/.exec(await containerfile())?.[1];
  t.is(base, manifest.dependencies.node.split('.')[0], 'Node of the build and of the server');
});

/** Ends a process, and resolves to its exit code. */
async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** Runs the health check of the Containerfile against this port. */
async function healthCheck(t: ExecutionContext, port: number): Promise<number | null> {
  const [line = ''] = await all('HEALTHCHECK');
  const [program = '', ...args]: string[] = JSON.parse(line.slice(line.indexOf('[')));
  t.is(program, 'node');
  const own = args.map(arg => arg.replace(`127.0.0.1:${PORT}`, `127.0.0.1:${port}`));
  t.notDeepEqual(own, args);
  return ended(spawn(process.execPath, own, { stdio: 'ignore' }));
}

test('the entry point starts the server, which its health check finds, and which stops on request', async t => {
  const [entry = ''] = await all('ENTRYPOINT');
  const [command = ''] = await all('CMD');
  const [node = '', ...words]: string[] = JSON.parse(entry);
  t.regex(node, /\/node_modules\/node\/bin\/node$/, 'the Node that comes with the package');
  const options = words.slice(0, -1);
  const main = await readFile(join(ROOT, 'core/cli/main.mjs'), 'utf8');
  const [, own = ''] = /const COLLECTION = \[([^\]]+)\]/.exec(main) ?? [];
  t.deepEqual(
    options,
    own.split(',').map(word => word.trim().slice(1, -1)),
  );

  const port = await freePort();
  const dir = await temporaryDirectory(t);
  const { PATH: _, ...env } = await variables();
  const server = spawn(
    process.execPath,
    [...options, join(ROOT, 'core/cli/main.mjs'), ...JSON.parse(command)],
    {
      cwd: dir,
      env: {
        PATH: process.env.PATH,
        ...env,
        HOME: dir,
        EARSHOT_DATA_DIR: join(dir, 'data'),
        EARSHOT_PORT: `${port}`,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  t.teardown(() => server.kill('SIGKILL'));
  t.is(await healthCheck(t, port), 1, 'before it listens');
  let said = '';
  for await (const text of server.stderr ?? []) {
    said += text;
    if (said.includes('is listening on')) break;
  }
  t.regex(said, new RegExp(`http://0\\.0\\.0\\.0:${port}`));
  t.is(await healthCheck(t, port), 0);
  const [signal = ''] = await all('STOPSIGNAL');
  server.kill(signal as NodeJS.Signals);
  t.is(await ended(server), 0, said);
});
