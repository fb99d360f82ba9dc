import { fileURLToPath } from 'node:url';

/** Files that take long, the longest first: begun last, they would run alone while the other processor has nothing to do. */
const LONG = [
  'test/packed.test.ts',
  'test/bench/main.test.ts',
  'test/core/cli/plugin-check.test.ts',
  'test/core/slow.test.ts',
  'test/torture/torture.test.ts',
  'test/core/control/move.test.ts',
  'test/packed-bridge.test.ts',
  'test/core/audio/codec-fuzz.test.ts',
  'test/codecs.test.ts',
];

const rank = file => {
  const place = LONG.findIndex(name => file.endsWith(name));
  return place < 0 ? LONG.length : place;
};

export default {
  extensions: ['ts'],
  files: ['test/**/*.test.ts'],
  sortTestFiles: (one, other) => rank(one) - rank(other) || one.localeCompare(other),
  // Ends what hangs. Tests have no limits of their own: they take as long as the machine needs beside other work.
  timeout: '10m',
  concurrency: 4,
  workerThreads: false,
  // Each file is a process of its own, and half of its start would be compiling the sources again.
  environmentVariables: {
    NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/earshot', import.meta.url)),
  },
};
