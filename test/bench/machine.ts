import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { version } from '../../core/runtime/version.ts';

/** Description of the machine, without which figures mean nothing. */
export function machine() {
  return {
    at: new Date().toISOString(),
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    earshot: version,
    packages: Object.fromEntries(PACKAGES.map(name => [name, versionOf(name)])),
    loadAtStart: loadavg()[0] ?? 0,
  };
}

const PACKAGES = ['koa', 'knex', 'objection', 'better-sqlite3', 'ws', '@evan/opus'];

function versionOf(name: string): string {
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url), 'utf8'),
  );
  return manifest.version;
}
