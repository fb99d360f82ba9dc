import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { wallTime } from '../../wall-clock.ts';
import { type Format, instantInName } from '../format.ts';
import { type SourceFile, wrong } from '../source-files.ts';

const TRANSCRIPTS = ['srt', 'vtt', 'txt', 'md', 'json'];
/** `PTT-20240131-WA0007.opus`, `AUD-…`: the day, and its number on that day. */
const WHATSAPP = /^(?:PTT|AUD)-\d{8}-WA(\d{4})\./i;

/** Recordings: with a transcript beside them, as PLAUD exports them, or alone, as WhatsApp keeps voice notes. */
export const recordings: Format = {
  title: 'recordings',
  claims: path => /\.(mp3|m4a|aac|wav|ogg|oga|opus|flac|webm|amr|3gp|mp4)$/i.test(path),
  async *things(file, { isBeside, timeZone, sentAt }) {
    if (isBeside(file.path, TRANSCRIPTS)) {
      yield { kind: 'left_out', what: 'recording', why: 'its transcript is imported instead' };
      return;
    }
    if (file.place === null)
      throw wrong(`${file.path} is a recording in an archive: unpack the archive first`);
    if (file.bytes === 0) throw wrong(`${file.path} is empty`);
    const hash = createHash('sha256');
    await pipeline(createReadStream(file.place), hash);
    yield {
      kind: 'recording',
      key: `audio:${hash.digest('hex')}`,
      path: file.place,
      name: (file.path.split('/').at(-1) ?? '').slice(-200),
      startedAt: sentAt(file.path) ?? sentByName(file, timeZone),
      endedAt: file.modifiedAt,
    };
  },
};

/** Returns the time of a copied voice note by its day and number. Null: the time of the file is right. */
function sentByName({ path, modifiedAt }: SourceFile, timeZone: string): number | null {
  const name = path.split('/').at(-1) ?? '';
  const number = WHATSAPP.exec(name)?.[1];
  const noon = number === undefined ? null : instantInName(name, timeZone);
  if (noon === null || wallTime(noon, timeZone).day === wallTime(modifiedAt, timeZone).day) return null;
  return noon + Number(number) * 1000;
}
