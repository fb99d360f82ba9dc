#!/usr/bin/env node
// The `earshot-bridge` command. Plain JavaScript, so that a Node that is too old can still say so.
import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { watchNpm } from '../config/parent.mjs';

const OLDEST = [22, 18];

// Young objects keep the 1 MB that they begin with, instead of up to 16: a bridge is to fit a small computer.
setFlagsFromString('--semi-space-growth-factor=1');

watchNpm(() => process.kill(process.pid, 'SIGTERM'));

try {
  const command = ['command.ts', 'command.js']
    .map(name => new URL(name, import.meta.url))
    .find(url => existsSync(url));
  if (isTooOld())
    throw new Error(`this is Node ${process.version}, the bridge needs ${OLDEST.join('.')} or later`);
  const { run } = await import(command.href);
  await run(process.argv.slice(2));
  process.exit(0); // Bluetooth libraries never let go of the process
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}

function isTooOld() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}
