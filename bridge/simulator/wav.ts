import { readRecording, toSpeech } from '../../core/audio/recording-file.ts';

/** Reads a recording of any format as 16 kHz mono samples. @throws {AppError} that names the file, and the way out */
export async function readWav(path: string): Promise<Int16Array> {
  return toSpeech(await readRecording(path));
}
