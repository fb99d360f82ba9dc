import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ForeignSegment } from '../foreign-item.ts';
import { conversationOf, type Format, instantFrom, instantInName, jsonOf, nameOf } from '../format.ts';
import { wrong } from '../source-files.ts';

const Time = z.union([z.number(), z.string()]);
const Text = z.string().nullish();

/** A sentence of the interface (`text`, `start_time` in seconds) or of a download (`sentence`, `startTime`). */
const Sentence = z.looseObject({
  text: Text,
  sentence: Text,
  raw_text: Text,
  start_time: Time.nullish(),
  startTime: Time.nullish(),
  end_time: Time.nullish(),
  endTime: Time.nullish(),
  speaker_name: Text,
  speaker_id: z.union([z.number(), z.string()]).nullish(),
});
const Transcript = z.looseObject({
  id: Text,
  title: Text,
  date: z.union([z.number(), z.string()]).nullish(),
  sentences: z.array(Sentence).min(1),
  summary: z.looseObject({ overview: Text, short_summary: Text }).nullish(),
});
const Shape = z.union([
  z.array(Sentence).min(1),
  Transcript,
  z.looseObject({ data: z.looseObject({ transcript: Transcript }) }),
]);

/** A transcript as JSON, from the download of a meeting or from the GraphQL interface. */
export const fireflies: Format = {
  title: 'Fireflies',
  claims: (path, head) =>
    /\.json$/i.test(path) && /"(sentences?|speaker_name)"\s*:/.test(head) && /^\s*[[{]/.test(head),
  async *things(file, { timeZone }) {
    const parsed = Shape.safeParse(await jsonOf(file));
    if (!parsed.success) throw wrong(`${file.path} is no transcript as Fireflies writes it`);
    const about = transcriptIn(parsed.data);
    const segments = about.sentences.map((sentence, at) =>
      segmentOf(sentence, `${file.path}, sentence ${at + 1}`),
    );
    const spoken = segments.filter(({ text }) => text.trim() !== '');
    if (spoken.length === 0) throw wrong(`${file.path}: nobody says anything in it`);
    const hash = createHash('sha256').update(JSON.stringify(spoken)).digest('hex');
    yield conversationOf({
      key: `fireflies:${about.id ?? hash}`,
      source: 'external_integration',
      title: about.title ?? nameOf(file.path),
      overview: about.summary?.overview ?? about.summary?.short_summary ?? '',
      startedAt: instantFrom(about.date) ?? instantInName(file.path, timeZone) ?? file.modifiedAt,
      segments: spoken,
    });
  },
};

function transcriptIn(
  shape: z.infer<typeof Shape>,
): Partial<z.infer<typeof Transcript>> & { sentences: z.infer<typeof Sentence>[] } {
  if (Array.isArray(shape)) return { sentences: shape };
  return 'sentences' in shape
    ? Transcript.parse(shape)
    : Transcript.parse((shape as { data: { transcript: unknown } }).data.transcript);
}

function segmentOf(sentence: z.infer<typeof Sentence>, where: string): ForeignSegment {
  const start = secondsOf(sentence.start_time ?? sentence.startTime ?? 0);
  const end = secondsOf(sentence.end_time ?? sentence.endTime ?? start ?? 0);
  if (start === null || end === null || end < start) throw wrong(`${where}: its times make no sense`);
  const speaker =
    sentence.speaker_name ?? (sentence.speaker_id == null ? null : `Speaker ${sentence.speaker_id}`);
  const text = sentence.text ?? sentence.sentence ?? sentence.raw_text ?? '';
  return { text, start, end, speaker, isUser: false };
}

/** Seconds, or `12:34`; null: neither. */
function secondsOf(time: number | string): number | null {
  if (typeof time === 'number' || /^\d+(\.\d+)?$/.test(time)) return Number(time) >= 0 ? Number(time) : null;
  if (!/^(\d{1,3}:)?\d{1,2}:\d{2}(\.\d+)?$/.test(time)) return null;
  return time.split(':').reduce((seconds, part) => seconds * 60 + Number(part), 0);
}
