/** Reads the head of a Whisper model in the ggml format. */
import { open } from 'node:fs/promises';

const MAGIC = 0x67676d6c;
/** Tokens of a multilingual model that do not stand for languages; English-only models have fewer tokens in all. */
const OTHER_TOKENS = 51_766;
const ENGLISH_TOKENS = 51_864;

/** Languages in the order of their tokens; a model has the first 99, or all. */
const LANGUAGES = (
  'en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ' +
  'ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd ' +
  'gu am yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su yue'
).split(' ');

/** Reads a model's languages, with `multi` where it detects them. Null: the file is no Whisper model. */
export async function languagesOf(path: string): Promise<string[] | null> {
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(8));
    if (bytesRead < 8 || buffer.readUInt32LE(0) !== MAGIC) return null;
    const tokens = buffer.readInt32LE(4);
    return tokens <= ENGLISH_TOKENS ? ['en'] : [...LANGUAGES.slice(0, tokens - OTHER_TOKENS), 'multi'];
  } finally {
    await file.close();
  }
}
