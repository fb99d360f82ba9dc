/**
 * The process that decodes pictures, which are untrusted: each is checked by its content, turned upright, and encoded
 * again without any other content of its file.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { AppError, toAppError } from '../../runtime/errors.ts';
import { sharpnessOf } from './look.ts';
import type { PictureAnswer, PictureRequest } from './pictures.ts';

const FORMATS: ReadonlySet<string> = new Set(['jpeg', 'png', 'webp']);
/** Maximum number of pixels; decoded, they take 200 MB. */
const MAX_PIXELS = 50_000_000;
const QUALITY = 88;
const SMALL_QUALITY = 75;
/** Longer side of a thumbnail, in pixels. */
const SMALL = 480;

process.on('message', async ({ id, ...request }: PictureRequest & { id: number }) => {
  const answer = await prepare(request).catch((thrown): PictureAnswer => {
    const { code, message } = toAppError(thrown, 'invalid_input');
    return { failure: { code, message } };
  });
  process.send?.({ id, ...answer });
});

async function prepare({ from, to, small }: PictureRequest): Promise<PictureAnswer> {
  const { Transformer, ResizeFit } = await import('@napi-rs/image').catch((cause): never => {
    const wayOut = 'npm install @napi-rs/image on the server';
    throw new AppError('unsupported_media', `Pictures cannot be read here: ${wayOut}`, { cause });
  });
  const bytes = await readFile(from);
  const open = () => new Transformer(bytes);
  const { format, ...size } = await open()
    .metadata(true)
    .catch((cause): never => {
      throw new AppError('invalid_input', 'The picture cannot be decoded', { cause });
    });
  if (!FORMATS.has(format))
    throw new AppError('invalid_input', 'The picture is not a JPEG, PNG or WebP file');
  if (size.width * size.height > MAX_PIXELS)
    throw new AppError('invalid_input', `It has more than ${MAX_PIXELS / 1e6} million pixels`);
  const [width, height] = isTurned(size) ? [size.height, size.width] : [size.width, size.height];
  const scale = Math.min(1, SMALL / Math.max(width, height));
  const little = { width: side(width * scale), height: side(height * scale), fit: ResizeFit.Fill };
  try {
    const whole = await open().rotate().jpeg(QUALITY);
    const reduced = await new Transformer(whole).resize(little).jpeg(SMALL_QUALITY);
    const gray = await new Transformer(reduced).grayscale().rawPixels();
    await writeFile(to, whole, { mode: 0o600, flush: true });
    await writeFile(small, reduced, { mode: 0o600, flush: true });
    const prepared = {
      width,
      height,
      bytes: whole.length + reduced.length,
      ...sharpnessOf(gray, little.width),
    };
    return { prepared };
  } catch (cause) {
    if (cause instanceof AppError || Object(cause).syscall !== undefined) throw cause;
    throw new AppError('invalid_input', 'The picture is damaged', { cause });
  }
}

/** EXIF orientations in which width and height are swapped. */
function isTurned({ orientation = 1 }: { orientation?: number }): boolean {
  return orientation >= 5;
}

function side(length: number): number {
  return Math.max(1, Math.round(length));
}
