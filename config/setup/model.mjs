/** The files of a speech model of config/models.json. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { download, problemOf, sizeOf } from './download.mjs';

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
 * @throws with the reason, which names the server or the file; `resumable` when it got on
 */
export async function fetchModel({ name, model, directory, say, check = false, limitMs = Infinity }) {
  const files = Object.values(model.files);
  const total = files.reduce((sum, file) => sum + file.size, 0);
  const hosts = new Set(files.map(file => new URL(file.url).host));
  say(
    `Fetching the speech model ${name} (${megabytes(total)} MB, ${model.licence}) from ${[...hosts].join(', ')} …`,
  );
  const until = performance.now() + limitMs;
  const progress = showProgress(total);
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

async function isThere(path, file, check) {
  if ((await sizeOf(path)) !== file.size) return false;
  if (!check || (await problemOf(path, file)) === null) return true;
  await rm(path);
  return false;
}

/** A line that counts up, for people; nothing in a log. */
function showProgress(total) {
  const { stderr } = process;
  let shown = -1;
  return {
    show(bytes) {
      const percent = Math.floor((100 * bytes) / total);
      if (!stderr.isTTY || percent === shown) return;
      shown = percent;
      stderr.write(`\r${String(percent).padStart(3)} % of ${megabytes(total)} MB`);
    },
    end() {
      if (shown !== -1) stderr.write('\n');
    },
  };
}

function megabytes(bytes) {
  return Math.max(1, Math.round(bytes / 1_000_000));
}
