/** The files of a model of config/models.json. */
import { readdir, rm, rmdir, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { download, problemOf, sizeOf } from './download.mjs';

/** Where its plugin looks for it. */
export function modelDirectory(dataDir, name, model) {
  return join(dataDir, 'plugins', model.plugin, name);
}

export function isLanguageModel(model) {
  return model.kind === 'instruct';
}

/** Tells whether a model recognises speech: it is neither a language model nor one for voices. */
export function recognisesSpeech(model) {
  return !isLanguageModel(model) && model.kind !== 'embedding';
}

export function sizeOfModel(model) {
  return Object.values(model.files).reduce((sum, file) => sum + file.size, 0);
}

/** Is it there? By size alone, which is quick; the recogniser checks what it loads. */
export async function isComplete(model, directory) {
  for (const file of Object.values(model.files)) {
    if ((await sizeOf(join(directory, file.name))) !== file.size) return false;
  }
  return true;
}

/**
 * Fetches what is missing.
 * @param options.check look at the checksums of the files that are there too, and fetch wrong ones again
 * @param options.limitMs stop after this for this time
 * @param options.lines tell the progress in lines, where there is no terminal
 * @param options.progress called with the bytes that are there, instead of showing them; a throw ends the download, what has come is kept
 * @throws with the reason, which names the server or the file; `resumable` when it got on
 */
export async function fetchModel(options) {
  const { name, model, directory, say, check = false, limitMs = Infinity, lines = false } = options;
  const files = Object.values(model.files);
  const total = sizeOfModel(model);
  const hosts = new Set(files.map(file => new URL(file.url).host));
  say(
    `Fetching the ${isLanguageModel(model) ? 'language' : 'speech'} model ${name} (${megabytes(total)} MB, ${model.licence}) from ${[...hosts].join(', ')} …`,
  );
  await checkSpace(files, directory);
  const until = performance.now() + limitMs;
  const progress = options.progress
    ? { show: options.progress, end() {} }
    : showProgress(total, lines ? say : () => undefined);
  let done = 0;
  try {
    for (const file of files) {
      const path = join(directory, file.name);
      const show = bytes => progress.show(done + bytes);
      if (!(await isThere(path, file, check))) await download(file, path, { progress: show, until });
      done += file.size;
    }
  } finally {
    progress.end();
  }
}

/** Removes its files, and what is there of them; resolves to the bytes that are free now. */
export async function removeModel(model, directory) {
  let freed = 0;
  for (const { name } of Object.values(model.files)) {
    for (const path of [join(directory, name), join(directory, `${name}.part`)]) {
      freed += await sizeOf(path);
      await rm(path, { force: true });
    }
  }
  const rest = await readdir(directory).catch(() => null);
  if (rest?.length === 0) await rmdir(directory);
  return freed;
}

async function checkSpace(files, directory) {
  let needed = 0;
  for (const { name, size } of files) {
    const path = join(directory, name);
    needed += Math.max(0, size - Math.max(await sizeOf(path), await sizeOf(`${path}.part`)));
  }
  const free = await freeBytes(directory);
  if (free < needed) {
    const message = `it needs ${megabytes(needed)} MB, and ${directory} has ${megabytes(free)} MB free`;
    throw Object.assign(new Error(message), { code: 'ENOSPC' });
  }
}

/** On the disk of the directory, or of the first above it that is there. */
async function freeBytes(directory) {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch (error) {
    if (error.code !== 'ENOENT' || directory === dirname(directory)) throw error;
    return freeBytes(dirname(directory));
  }
}

async function isThere(path, file, check) {
  if ((await sizeOf(path)) !== file.size) return false;
  if (!check || (await problemOf(path, file)) === null) return true;
  await rm(path);
  return false;
}

/** On a terminal a line that counts up; elsewhere a line for every tenth. */
function showProgress(total, sayLine) {
  const { stderr } = process;
  const step = stderr.isTTY ? 1 : 10;
  let shown = stderr.isTTY ? -1 : 0;
  return {
    show(bytes) {
      const percent = Math.floor((100 * bytes) / total);
      if (percent < shown + step) return;
      shown = percent - (percent % step);
      const text = `${String(percent).padStart(3)} %, ${megabytes(bytes)} of ${megabytes(total)} MB`;
      if (stderr.isTTY) stderr.write(`\r${text}`);
      else sayLine(text);
    },
    end() {
      if (stderr.isTTY && shown !== -1) stderr.write('\n');
    },
  };
}

export function megabytes(bytes) {
  return Math.max(1, Math.round(bytes / 1_000_000));
}
