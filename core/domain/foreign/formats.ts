import type { Format } from './format.ts';
import { bee } from './formats/bee.ts';
import { calendar } from './formats/calendar.ts';
import { fireflies } from './formats/fireflies.ts';
import { granola } from './formats/granola.ts';
import { limitless } from './formats/limitless.ts';
import { markdown } from './formats/markdown.ts';
import { omi } from './formats/omi.ts';
import { recordings } from './formats/recordings.ts';
import { subtitles } from './formats/subtitles.ts';
import { timedText } from './formats/timed-text.ts';
import { whatsapp } from './formats/whatsapp.ts';

/** The first format that recognises a file reads it: the most specific ones come first. */
export const FORMATS: readonly Format[] = [
  omi,
  granola,
  limitless,
  bee,
  fireflies,
  subtitles,
  whatsapp,
  timedText,
  calendar,
  markdown,
  recordings,
];
