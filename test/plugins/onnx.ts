/** Just enough of ONNX, and of the protocol buffers that it is written in, to write tiny models by hand. */

export const FLOAT = 1;
export const INT64 = 7;

export function node(operator: string, inputs: string[], output: string, attributes: Buffer[] = []): Buffer {
  return nested(1, ...inputs.map(name => text(1, name)), text(2, output), text(4, operator), ...attributes);
}

export function tensor(name: string, type: number, shape: number[], raw: Buffer): Buffer {
  return nested(5, ...shape.map(size => integer(1, size)), integer(2, type), text(8, name), bytes(9, raw));
}

export function value({
  name,
  type,
  shape,
}: {
  name: string;
  type: number;
  shape: (number | string)[];
}): Buffer {
  const dimensions = shape.map(size =>
    nested(1, typeof size === 'number' ? integer(1, size) : text(2, size)),
  );
  return message(text(1, name), nested(2, nested(1, integer(1, type), nested(2, ...dimensions))));
}

export function floats(values: number[]): Buffer {
  return Buffer.from(Float32Array.from(values).buffer);
}

// Protocol buffers: a field is its number and kind, then a number, or a length and that many bytes.

export function message(...fields: Buffer[]): Buffer {
  return Buffer.concat(fields);
}

export function nested(field: number, ...fields: Buffer[]): Buffer {
  return bytes(field, message(...fields));
}

export function text(field: number, content: string): Buffer {
  return bytes(field, Buffer.from(content));
}

function bytes(field: number, content: Buffer): Buffer {
  return Buffer.concat([variable(field * 8 + 2), variable(content.length), content]);
}

export function integer(field: number, content: number): Buffer {
  return Buffer.concat([variable(field * 8), variable(content)]);
}

function variable(content: number): Buffer {
  const out: number[] = [];
  let rest = content;
  while (rest > 127) {
    out.push((rest & 127) | 128);
    rest >>>= 7;
  }
  return Buffer.from([...out, rest]);
}
