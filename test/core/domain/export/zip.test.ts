import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { type ArchivedFile, zipOf } from '../../../../core/domain/export/zip.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { isThorough } from '../../../helpers/thorough.ts';

const openZip = promisify<string, object, ZipFile>(yauzl.open);

/** Writes an archive, and calls `check` with each of its files. */
async function read(
  t: ExecutionContext,
  files: Iterable<ArchivedFile>,
  check: (entry: Entry, content: Readable) => Promise<void>,
): Promise<number> {
  const file = join(await temporaryDirectory(t), 'archive.zip');
  await pipeline(Readable.from(zipOf(Readable.from(files))), createWriteStream(file));
  const zip = await openZip(file, { lazyEntries: true, autoClose: false });
  const open = promisify<Entry, Readable>(zip.openReadStream.bind(zip));
  for (let at = 0; at < zip.entryCount; at++) {
    zip.readEntry();
    const [entry] = (await once(zip, 'entry')) as [Entry];
    await check(entry, await open(entry));
  }
  zip.close();
  return zip.entryCount;
}

test('An archive holds files of every size, with their paths and times', async t => {
  const at = new Date(2026, 10, 28, 17, 43, 58).getTime();
  const sizes = [0, 1, 300, 8191, 8192, 8193, 64 * 1024, 300_000];
  const contents = sizes.flatMap(size => [randomBytes(size), Buffer.alloc(size, 'Tea at seven. ')]);
  const files = contents.flatMap(content =>
    [true, false].map(isCompressed => ({ content, isCompressed, at })),
  );
  const count = await read(
    t,
    files.map(({ content, ...rest }, index) => ({
      ...{ path: `Gespräch/${index} 🎙.md`, ...rest },
      pieces: Readable.from(
        content.length < 100_000 ? [content] : [content.subarray(0, 9), content.subarray(9)],
      ),
    })),
    async (entry, content) => {
      const index = Number.parseInt(entry.fileName.slice('Gespräch/'.length), 10);
      t.is(entry.fileName, `Gespräch/${index} 🎙.md`);
      t.is(entry.getLastModDate().getTime(), at);
      t.is(entry.externalFileAttributes >>> 16, 0o100600);
      const expected = files[index]?.content ?? Buffer.of();
      const found = Buffer.concat(await content.toArray());
      t.true(found.equals(expected), `${index}: ${found.length} bytes of ${expected.length}`);
    },
  );
  t.is(count, files.length);
});

test('An empty archive can be read', async t => {
  t.is(await read(t, [], async () => t.fail()), 0);
});

if (isThorough)
  test('More than 65,535 files, and more than 4 GiB, fit into an archive', async t => {
    t.timeout(300_000);
    const few = 66_000;
    const piece = Buffer.alloc(1 << 20);
    const pieces = 4100;
    function* files(): Generator<ArchivedFile> {
      const common = { at: 0, isCompressed: false };
      const large = Array<Buffer>(pieces).fill(piece);
      yield { ...common, path: 'packed', pieces: Readable.from(large) };
      yield { ...common, path: 'stored', pieces: Readable.from(large), isCompressed: true };
      for (let number = 0; number < few; number++)
        yield { ...common, path: `${number}`, pieces: Readable.from([Buffer.from(`${number}`)]) };
    }
    const count = await read(t, files(), async (entry, content) => {
      if (/^\d/.test(entry.fileName)) {
        if (Buffer.concat(await content.toArray()).toString() !== entry.fileName) t.fail(entry.fileName);
        return;
      }
      let bytes = 0;
      for await (const chunk of content) bytes += chunk.length;
      t.is(bytes, pieces * piece.length, entry.fileName);
    });
    t.is(count, few + 2);
  });
