import { AppError } from '../runtime/errors.ts';

/** Handle of one AAC stream inside the package. */
export interface Faad {
  /** Result for one frame without its header; zero channels: no sound. */
  decode(frame: Uint8Array): { channelData: Float32Array[] };
  free(): void;
}

/** The part of the package that is used. The package is optional because its licence is the GPL. */
interface FaadModule {
  decoder(options: { asc: Uint8Array }): Promise<Faad>;
}

const PACKAGE = '@audio/decode-aac';
/** A copy of the module has a fixed memory of 64 MiB, which about 740 streams fill; exceeding it breaks them all. */
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

/** A module is loaded once per URL, so each number gives a copy with its own memory. */
async function loadCopy(number: number): Promise<FaadModule> {
  return import(`${import.meta.resolve(PACKAGE)}?copy=${number}`);
}
