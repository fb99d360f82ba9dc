import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { dataDirectoryCheck, judgeSync } from '../../../../core/cli/doctor/data-directory.ts';
import { earshot } from '../../../helpers/cli.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { look, patientOf } from '../../../helpers/patient.ts';
import { reportSkipped } from '../../../helpers/skips.ts';

test('an intact directory passes every check, and nothing is left in it', async t => {
  const dataDir = await temporaryDirectory(t);
  const found = await look(t, dataDirectoryCheck, await patientOf(t, { dataDir }));
  t.like(found.directory, { level: 'good', detail: dataDir });
  t.is(found.privacy?.level, 'good');
  t.is(found.writing?.level, 'good');
  t.regex(found.speed?.detail ?? '', /^fdatasync takes [\d.]+ ms, at most [\d.]+ ms, in 20 tries$/);
  t.deepEqual(await readdir(dataDir), []);
});

test('a missing directory is created by the first start, not by the check', async t => {
  const parent = await temporaryDirectory(t);
  const found = await look(t, dataDirectoryCheck, await patientOf(t, { dataDir: join(parent, 'a/b') }));
  t.is(found.directory?.level, 'note');
  t.regex(found.space?.detail ?? '', new RegExp(`free at ${parent}$`));
  t.deepEqual(await readdir(parent), []);
});

test('a restore that was killed is named with the way out', async t => {
  const dataDir = join(await temporaryDirectory(t), 'data');
  await mkdir(`${dataDir}.restored-2026-01-01T000000.000`);
  const found = await look(t, dataDirectoryCheck, await patientOf(t, { dataDir }));
  t.like(found.restore, { level: 'bad', detail: `a restore into ${dataDir} was interrupted` });
  t.regex(found.restore?.cure ?? '', /^start the server, or restore again/);
  t.is(found.directory, undefined);
});

test('a directory that others may read is a warning, and a file in its place fails', async t => {
  const dataDir = join(await temporaryDirectory(t), 'data');
  await mkdir(dataDir);
  await chmod(dataDir, 0o755);
  const open = await look(t, dataDirectoryCheck, await patientOf(t, { dataDir }));
  t.like(open.privacy, { level: 'doubt', cure: `chmod 700 ${dataDir}` });
  const file = join(dataDir, 'file');
  await writeFile(file, '');
  const found = await look(t, dataDirectoryCheck, await patientOf(t, { dataDir: file }));
  t.like(found.directory, { level: 'bad', detail: `${file} is a file` });
});

test('a directory that this account may not write to fails, with its owner', async t => {
  const dataDir = await temporaryDirectory(t);
  await chmod(dataDir, 0o555);
  // Root may write everywhere: the command is then run as nobody.
  const isRoot = process.getuid?.() === 0;
  const ran = await earshot(
    ['doctor', '--json', '--data-dir', dataDir],
    { EARSHOT_STT: '[]' },
    isRoot ? 65_534 : undefined,
  );
  t.is(ran.code, 1, ran.stderr);
  const { findings }: { findings: { what: string }[] } = JSON.parse(ran.stdout);
  t.like(
    findings.find(({ what }) => what === 'writing'),
    {
      level: 'bad',
      detail: `${dataDir} cannot be written to (EACCES)`,
      cure: `give it to the account that runs Earshot: sudo chown -R "$(id -un)" ${dataDir}`,
    },
  );
  if (isRoot)
    t.like(
      findings.find(({ what }) => what === 'directory'),
      { level: 'doubt', cure: "run it as that account: sudo -u '#0' earshot doctor" },
    );
});

test('a full disk fails', async t => {
  const dataDir = await temporaryDirectory(t);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', dataDir], { stdio: 'pipe' });
  } catch (error) {
    return reportSkipped(t, 'disk', 'the check of a full disk', String(error));
  }
  try {
    const nearly = await look(t, dataDirectoryCheck, await patientOf(t, { dataDir }));
    t.is(nearly.space?.level, 'bad');
    await writeFile(join(dataDir, 'filler'), Buffer.alloc(64 * 1024)).catch(() => {});
    const full = await look(t, dataDirectoryCheck, await patientOf(t, { dataDir }));
    t.like(full.writing, { level: 'bad', cure: 'free space there, or set dataDir to a larger disk' });
    t.regex(full.writing?.detail ?? '', /\(ENOSPC\)/);
  } finally {
    execFileSync('umount', [dataDir]);
  }
});

test('a slow disk is a warning, and a very slow one fails, by the median', t => {
  t.is(judgeSync([1, 2, 900]).level, 'good');
  t.like(judgeSync([60, 2, 70]), {
    level: 'doubt',
    detail: 'fdatasync takes 60 ms, at most 70 ms, in 3 tries',
  });
  t.is(judgeSync([501, 502, 1]).level, 'bad');
  t.regex(judgeSync([501]).cure ?? '', /faster disk/);
});
