/**
 * Reads the constant tensors of an ONNX file by name, as much as is needed for a model whose structure is known. An
 * ONNX file is a protocol buffer; the numbers below are field numbers.
 */
type Tensors = Map<string, Float32Array<ArrayBuffer>>;

const MODEL = { graph: 7 };
const GRAPH = { node: 1 };
const NODE = { output: 2, attribute: 5 };
const ATTRIBUTE = { tensor: 5, graph: 6 };
const TENSOR = { dataType: 2, rawData: 9 };
const FLOAT = 1;

/**
 * Reads the tensors whose names start with `prefix`, which is removed from the names.
 * @throws `RangeError` or `TypeError` when the bytes are not an ONNX file
 */
export function readTensors(model: Uint8Array, prefix: string): Tensors {
  const tensors: Tensors = new Map();
  for (const graph of parts(model, MODEL.graph)) collect(graph, prefix, tensors);
  return tensors;
}

/** The model's branches are graphs inside nodes. */
function collect(graph: Uint8Array, prefix: string, tensors: Tensors) {
  for (const node of parts(graph, GRAPH.node)) {
    const name = new TextDecoder().decode(parts(node, NODE.output)[0]);
    for (const attribute of parts(node, NODE.attribute)) {
      for (const inner of parts(attribute, ATTRIBUTE.graph)) collect(inner, prefix, tensors);
      if (!name.startsWith(prefix)) continue;
      for (const tensor of parts(attribute, ATTRIBUTE.tensor)) {
        const values = floats(tensor);
        if (values) tensors.set(name.slice(prefix.length), values);
      }
    }
  }
}

function floats(tensor: Uint8Array): Float32Array<ArrayBuffer> | null {
  const isFloat = [...fields(tensor)].some(
    field => field.number === TENSOR.dataType && field.value === FLOAT,
  );
  const [raw] = parts(tensor, TENSOR.rawData);
  return isFloat && raw ? new Float32Array(new Uint8Array(raw).buffer) : null;
}

/** Returns the values of one length-delimited field. */
function parts(message: Uint8Array, number: number): Uint8Array[] {
  return [...fields(message)].flatMap(field => (field.number === number && field.bytes ? [field.bytes] : []));
}

interface Field {
  number: number;
  value: number;
  bytes?: Uint8Array;
}

function* fields(message: Uint8Array): Generator<Field> {
  let at = 0;

  function varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message[at++];
      if (byte === undefined) throw new RangeError('The file is cut off');
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  function take(length: number): Uint8Array {
    at += length;
    if (at > message.length) throw new RangeError('The file is cut off');
    return message.subarray(at - length, at);
  }

  while (at < message.length) {
    const key = varint();
    const number = Math.floor(key / 8);
    const wireType = key % 8;
    if (wireType === 0) yield { number, value: varint() };
    else if (wireType === 1) yield { number, value: 0, bytes: take(8) };
    else if (wireType === 2) yield { number, value: 0, bytes: take(varint()) };
    else if (wireType === 5) yield { number, value: 0, bytes: take(4) };
    else throw new TypeError('The file is no protocol buffer');
  }
}
