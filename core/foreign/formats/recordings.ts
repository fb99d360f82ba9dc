import type { Format } from '../format.ts';
import { wrong } from '../source-files.ts';

const TRANSCRIPTS = ['srt', 'vtt', 'txt', 'md', 'json'];

/** Recordings beside their transcripts, as PLAUD and others export them. */
export const recordings: Format = {
  title: 'recordings',
  claims: path => /\.(mp3|m4a|aac|wav|ogg|oga|opus|flac|webm|amr|3gp|mp4)$/i.test(path),
  *things({ path }, { isBeside }) {
    if (!isBeside(path, TRANSCRIPTS))
      throw wrong(
        `${path} is a recording without a transcript: have it transcribed with earshot stream ${path}`,
      );
    yield { kind: 'left_out', what: 'recording', why: 'its transcript is taken in; audio is not kept' };
  },
};
