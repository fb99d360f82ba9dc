/**
 * Has the real sherpa-onnx check the configuration of each kind of model, once per file, with that file
 * missing and the others present. Prints the kind and the file before; sherpa-onnx prints which one it
 * misses.
 */
import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { configOf, kindOf, MODEL_KINDS, type ModelKind } from '../../../plugins/kit/sherpa/sherpa-kinds.ts';

const sherpa: Record<'OnlineRecognizer' | 'OfflineRecognizer', new (config: object) => unknown> =
  createRequire(import.meta.url)('sherpa-onnx-node');

for (const kind of Object.keys(MODEL_KINDS) as ModelKind[])
  for (const missing of kindOf(kind).files) {
    const { streaming, files: needed } = kindOf(kind);
    const files = Object.fromEntries(
      needed.map(file => [file, file === missing ? `/nowhere/${kind}.${file}` : import.meta.filename]),
    );
    writeSync(2, `\n@ ${kind} ${missing}\n`);
    try {
      new sherpa[streaming ? 'OnlineRecognizer' : 'OfflineRecognizer'](
        configOf({ kind, files, numThreads: 1, hotwords: false }, 'en'),
      );
      writeSync(2, 'it was accepted\n');
    } catch {
      // sherpa-onnx has printed the reason
    }
  }
