import { AppError } from '../runtime/errors.ts';

/** One AAC stream inside the package. */
export interface Faad {
  /** One frame without its header; no channels: it gave no sound. */
  decode(frame: Uint8Array): { channelData: Float32Array[] };
  free(): void;
}

/** Used part of the package, which is optional because its licence is the GPL. */
interface FaadModule {
  decoder(options: { asc: Uint8Array }): Promise<Faad>;
}

const PACKAGE = '@audio/decode-aac';
/** One copy of the module has a fixed memory of 64 MiB, full at about 740 streams; one that is full breaks them all. */
const STREAMS_PER_COPY = 500;

interface Copy {
  module: Promise<FaadModule>;
  streams: number;
}
let copies: Copy[] = [];
let copiesMade = 0;

/** Loads the package. Throws `unsupported_media` where it is not installed. */
export async function loadFaad(): Promise<void> {
  const copy = copyWithRoom();
  try {
    await copy.module;
  } catch (error) {
    copies = copies.filter(other => other !== copy);
    const wayOut = 'npm install @audio/decode-aac on the server, or send opus or pcm16';
    throw new AppError('unsupported_media', `AAC cannot be decoded here: ${wayOut}`, { cause: error });
  }
}

/** @param asc the AudioSpecificConfig, ISO/IEC 14496-3 section 1.6.2.1 */
export async function openFaad(asc: Uint8Array): Promise<Faad> {
  const copy = copyWithRoom();
  copy.streams += 1;
  try {
    const faad = await (await copy.module).decoder({ asc });
    return {
      decode: frame => faad.decode(frame),
      free() {
        copy.streams -= 1;
        faad.free();
      },
    };
  } catch (error) {
    copy.streams -= 1;
    throw error;
  }
}

function copyWithRoom(): Copy {
  const known = copies.find(({ streams }) => streams < STREAMS_PER_COPY);
  if (known) return known;
  copiesMade += 1;
  const copy = { module: loadCopy(copiesMade), streams: 0 };
  copies.push(copy);
  return copy;
}

/** A module is loaded once per URL, so each number is a copy with a memory of its own. */
async function loadCopy(number: number): Promise<FaadModule> {
  return import(`${import.meta.resolve(PACKAGE)}?copy=${number}`);
}
