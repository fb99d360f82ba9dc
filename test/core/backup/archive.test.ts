import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { zstdCompressSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { pack } from 'tar-stream';
import {
  createKey,
  type Manifest,
  readArchive,
  type Source,
  writeArchive,
} from '../../../core/backup/archive.ts';
import { restoreBackup } from '../../../core/backup/restore.ts';

const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

async function temporary(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-archive-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const CONTENTS = { 'audio/1.log': 'grows'.repeat(50_000), 'plugins/local/empty': '', 'server.json': '{}' };
const HEAD = {
  format: 1 as const,
  version: '0.1.0',
  createdAt: '2026-11-22T03:30:00.000Z',
  rows: { users: 2 },
};

async function written(t: ExecutionContext, recipients: string[] = []) {
  const directory = await temporary(t);
  const files: Source[] = [];
  for (const [path, content] of Object.entries(CONTENTS)) {
    const from = join(directory, String(files.length));
    await writeFile(from, `${content}${path.endsWith('.log') ? 'and what came later' : ''}`);
    files.push({ path, from, bytes: content.length, sha256: sha256(content) });
  }
  const file = join(directory, 'backup');
  await writeArchive(file, { ...HEAD, files }, recipients);
  return { directory, file };
}

const check = (file: string, identity: string | null = null) =>
  readArchive(file, identity, async () => async () => null);

test('files are read back as written, and a growing file up to its initial size', async t => {
  const { file } = await written(t);
  const manifest = await check(file);
  t.like(manifest, HEAD);
  t.deepEqual(
    manifest.files.map(({ path, bytes }) => [path, bytes]),
    [...Object.entries(CONTENTS).map(([path, content]) => [path, content.length])],
  );
});

test('an encrypted archive can be read only with its key', async t => {
  const [key, other] = [await createKey(), await createKey()];
  const { file } = await written(t, [key.recipient, other.recipient]);
  t.false((await readFile(file)).includes('server.json'));
  t.like(await check(file, key.identity), HEAD);
  t.like(await check(file, other.identity), HEAD);
  await t.throwsAsync(check(file), { code: 'invalid_input', message: /is encrypted: name the file/ });
  const third = await createKey();
  await t.throwsAsync(check(file, third.identity), { code: 'invalid_input', message: /for another key/ });
  await t.throwsAsync(check(file, 'secret'), { code: 'invalid_input', message: /not a private key/ });
});

/** The compressor appends an empty frame, which is not read. */
const EMPTY_FRAME_BYTES = 13;

test('an archive that is truncated or modified anywhere is rejected', async t => {
  const { directory, file } = await written(t);
  const whole = await readFile(file);
  const damaged = join(directory, 'damaged');
  for (let part = 0; part < 10; part++) {
    const place = Math.floor((whole.length * part) / 10);
    await writeFile(damaged, whole.subarray(0, place));
    await t.throwsAsync(check(damaged), { code: 'invalid_input' }, `cut at ${place} of ${whole.length}`);
  }
  for (let place = 0; place < whole.length - EMPTY_FRAME_BYTES; place++) {
    const changed = Buffer.from(whole);
    changed[place] = (changed[place] ?? 0) ^ 0xff;
    await writeFile(damaged, changed);
    await t.throwsAsync(check(damaged), { code: 'invalid_input' }, `changed at ${place} of ${whole.length}`);
  }
});

test('a file that is not a backup is rejected by name', async t => {
  const directory = await temporary(t);
  const file = join(directory, 'photo.jpg');
  await writeFile(file, 'JFIF');
  await t.throwsAsync(check(file), { code: 'invalid_input', message: `${file} is not a backup of Earshot` });
  await t.throwsAsync(check(join(directory, 'none')), {
    code: 'not_found',
    message: /none cannot be read: ENOENT/,
  });
});

/** An archive made to attack the reader. */
async function forged(
  t: ExecutionContext,
  manifest: Partial<Manifest>,
  entries: [string, string, object?][],
) {
  const tar = pack();
  tar.entry({ name: 'manifest.json' }, JSON.stringify({ ...HEAD, rows: {}, files: [], ...manifest }));
  for (const [name, content, header] of entries) tar.entry({ name, ...header }, content);
  tar.finalize();
  const file = join(await temporary(t), 'forged');
  await writeFile(file, zstdCompressSync(await buffer(tar as unknown as AsyncIterable<Buffer>)));
  return file;
}

const listed = (path: string, content: string) => ({ path, bytes: content.length, sha256: sha256(content) });
const FORGED: [string, Partial<Manifest>, [string, string, object?][]][] = [
  ['leads out of the directory', { files: [listed('../evil', 'x')] }, [['../evil', 'x']]],
  ['is absolute', { files: [listed('/tmp/evil', 'x')] }, [['/tmp/evil', 'x']]],
  ['holds what is not listed', { files: [] }, [['more', 'x']]],
  ['lacks what is listed', { files: [listed('lost', 'x')] }, []],
  ['holds another size', { files: [{ ...listed('a', 'x'), bytes: 2 }] }, [['a', 'x']]],
  ['holds another content', { files: [listed('a', 'x')] }, [['a', 'y']]],
  ['holds a link', { files: [listed('a', '')] }, [['a', '', { type: 'symlink', linkname: '/etc/passwd' }]]],
  ['is of another format', { format: 2 as 1, files: [] }, []],
  ['has no database', { files: [listed('a', 'x')] }, [['a', 'x']]],
];

for (const [what, manifest, entries] of FORGED) {
  test(`an archive that ${what} is rejected, and leaves nothing`, async t => {
    const file = await forged(t, manifest, entries);
    const place = await temporary(t);
    const restoring = restoreBackup({ file, identity: null, dataDir: join(place, 'data'), replace: false });
    await t.throwsAsync(restoring, { code: 'invalid_input' });
    t.deepEqual(await readdir(place), []);
  });
}
