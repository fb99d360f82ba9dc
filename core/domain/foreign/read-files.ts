import { AppError } from '../../runtime/errors.ts';
import { ForeignItem, type ForeignThing } from './foreign-item.ts';
import { type About, type Format, nameOf } from './format.ts';
import { FORMATS } from './formats.ts';
import { filesOf, type SourceFile, wrong } from './source-files.ts';

const MAX_NAMED = 5;

export interface ReadRequest {
  path: string;
  timeZone: string;
}
/** The first line of output: the recognised formats; none for an archive of Earshot itself. */
export interface Recognised {
  formats: string[];
}

/** File in every archive of Earshot itself. */
const OWN = 'earshot.json';

/** Recognises every file before it reads the first. An unknown file, which is named, refuses all of them. */
export async function* readFiles({ path, timeZone }: ReadRequest): AsyncGenerator<Recognised | ForeignThing> {
  const { files, close } = await filesOf(path);
  try {
    if (files.length === 0) throw wrong('there is no file in it');
    if (files.some(file => file.path === OWN)) {
      yield { formats: [] };
      return;
    }
    const claimed: { file: SourceFile; format: Format }[] = [];
    const unknown: string[] = [];
    for (const file of files) {
      const head = await file.head();
      const format = FORMATS.find(each => each.claims(file.path, head));
      if (format) claimed.push({ file, format });
      else unknown.push(file.path);
    }
    if (unknown.length > 0) throw refusal(unknown);
    yield { formats: [...new Set(claimed.map(({ format }) => format.title))] };
    const sent = new Map<string, number>();
    for (const { file, format } of claimed)
      for await (const { path, at } of format.attachments?.(file, timeZone) ?? []) sent.set(path, at);
    const stems = new Set(files.map(file => file.path.toLowerCase()));
    const about: About = {
      timeZone,
      sentAt: path => sent.get(path),
      isBeside: (path, endings) =>
        endings.some(ending => stems.has(`${withoutEnding(path)}.${ending}`.toLowerCase())),
    };
    for (const { file, format } of claimed) yield* thingsOf(file, format, about);
  } finally {
    close();
  }
}

/** Reads one file; an unexpected error names the file as well. */
async function* thingsOf(file: SourceFile, format: Format, about: About): AsyncGenerator<ForeignThing> {
  try {
    for await (const thing of format.things(file, about)) yield ForeignItem.parse(thing);
  } catch (error) {
    throw error instanceof AppError ? error : wrong(`${file.path} cannot be read as ${format.title}`, error);
  }
}

function withoutEnding(path: string): string {
  return path.slice(0, path.length - (path.split('/').at(-1) ?? '').length) + nameOf(path);
}

function refusal(unknown: readonly string[]) {
  const named = unknown.slice(0, MAX_NAMED).join(', ');
  const others = unknown.length > MAX_NAMED ? ` and ${unknown.length - MAX_NAMED} others` : '';
  return wrong(
    `${named}${others}: unknown format. Move away what is not to be imported. Known formats: ${FORMATS.map(({ title }) => title).join(', ')}`,
  );
}
