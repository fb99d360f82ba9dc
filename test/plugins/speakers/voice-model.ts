/**
 * A real, tiny voice model in ONNX for sherpa-onnx's embedding extractor: mean and deviation of each of the
 * 80 mel bands, centred, and projected to the dimensions that separate the tests' synthetic voices. It cannot
 * separate people.
 */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { FLOAT, floats, integer, message, nested, node, tensor, text, value } from '../onnx.ts';

const BANDS = 80;

interface Projection {
  dimensions: number;
  /** Mean of the statistics of many voices. */
  mean: number[];
  /** By statistic, then by dimension. */
  matrix: number[];
}

/** Writes the model, and returns its expected file. */
export async function writeVoiceModel(path: string): Promise<{ size: number; sha256: string }> {
  const file = new URL('../../fixtures/voices/projection.json', import.meta.url);
  const bytes = voiceModel(JSON.parse(await readFile(file, 'utf8')));
  await writeFile(path, bytes);
  return { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

function voiceModel({ dimensions, mean, matrix }: Projection, metadata: Record<string, string> = {}): Buffer {
  const described = {
    framework: 'wespeaker',
    language: 'English',
    url: 'none',
    comment: 'for tests',
    output_dim: String(dimensions),
    sample_rate: '16000',
    normalize_samples: '1',
    feature_normalize_type: '',
    ...metadata,
  };
  return message(
    integer(1, 8), // IR version
    nested(7, graph({ dimensions, mean, matrix })),
    nested(8, text(1, ''), integer(2, 13)), // operators
    ...Object.entries(described).map(([key, content]) => nested(14, text(1, key), text(2, content))),
  );
}

function graph({ dimensions, mean, matrix }: Projection): Buffer {
  const overTime = [ints('axes', [1]), whole('keepdims', 0)];
  return message(
    node('ReduceMean', ['x'], 'average', overTime),
    node('Mul', ['x', 'x'], 'squares'),
    node('ReduceMean', ['squares'], 'power', overTime),
    node('Mul', ['average', 'average'], 'square'),
    node('Sub', ['power', 'square'], 'variance'),
    node('Relu', ['variance'], 'positive'),
    node('Sqrt', ['positive'], 'deviation'),
    node('Concat', ['average', 'deviation'], 'statistics', [whole('axis', 1)]),
    node('Sub', ['statistics', 'mean'], 'centred'),
    node('MatMul', ['centred', 'matrix'], 'embs'),
    text(2, 'voices'),
    tensor('mean', FLOAT, [2 * BANDS], floats(mean)),
    tensor('matrix', FLOAT, [2 * BANDS, dimensions], floats(matrix)),
    nested(11, value({ name: 'x', type: FLOAT, shape: [1, 'T', BANDS] })),
    nested(12, value({ name: 'embs', type: FLOAT, shape: [1, dimensions] })),
  );
}

const INT = 2;
const INTS = 7;

function whole(name: string, content: number): Buffer {
  return nested(5, text(1, name), integer(3, content), integer(20, INT));
}

function ints(name: string, content: number[]): Buffer {
  return nested(5, text(1, name), ...content.map(each => integer(8, each)), integer(20, INTS));
}
