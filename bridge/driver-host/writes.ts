import type { Control, Driver, Ref, Stream, Writable, WriteStep } from '../driver.ts';
import { sameRef } from './forbidden.ts';

/** Returns everything that a driver may write: its own list, and what its stream and controls declare. */
export function declaredWrites({ writes = [], stream, controls = [] }: Driver): readonly Writable[] {
  return [...writes, ...(stream ? ofStream(stream) : []), ...controls.map(ofControl)];
}

function ofControl({ service, characteristic, values }: Control): Writable {
  const { min, max } = values as { min?: number; max?: number };
  const isRange = min !== undefined && max !== undefined;
  const first = isRange ? Array.from({ length: max - min + 1 }, (_, at) => min + at) : Object.values(values);
  return { service, characteristic, first };
}

function ofStream(stream: Stream): Writable[] {
  const { time } = stream;
  return [...stepsOf(stream).map(({ write }) => write), ...(time ? [time] : [])];
}

/** The writes among its steps. */
function stepsOf({ start = [], stop = [], keepAlive }: Stream): WriteStep[] {
  const steps = [...start, ...stop, ...(keepAlive ? [keepAlive.step] : [])];
  return steps.filter(step => 'write' in step);
}

/**
 * Returns the declaration that allows these bytes.
 * @throws Error that says why there is none
 */
export function declarationOf(declared: readonly Writable[], ref: Ref, bytes: Uint8Array): Writable {
  const here = declared.filter(one => sameRef(one, ref));
  if (here.length === 0)
    throw new Error(`it writes to ${ref.characteristic}, which its \`writes\` do not declare`);
  const found = here.find(({ first }) => !first || first.includes(bytes[0] ?? -1));
  if (found) return found;
  throw new Error(
    `it writes ${hex(bytes)} to ${ref.characteristic}; its \`writes\` declare no such first byte`,
  );
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 8)).toString('hex') || 'nothing';
}
