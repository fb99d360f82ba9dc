/**
 * Measures memory including that of WebAssembly modules, which Node does not count. Import it before anything that
 * loads such modules.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface WasmMemory {
  buffer: ArrayBuffer;
  grow(pages: number): number;
}
interface WasmInstance {
  exports: Record<string, unknown>;
}
interface Wasm {
  instantiate(...args: unknown[]): Promise<WasmInstance | { instance: WasmInstance }>;
  Instance: new (...args: unknown[]) => WasmInstance;
  Memory: new (size: { initial: number }) => WasmMemory;
}

const wasm = WebAssembly as unknown as Wasm; // Node's types declare only part of it
const { instantiate, Instance } = wasm;
const memories: WeakRef<WasmMemory>[] = [];

wasm.instantiate = async (...args) => {
  const made = await instantiate(...args);
  watch('instance' in made ? made.instance : made);
  return made;
};
wasm.Instance = class extends Instance {
  constructor(...args: unknown[]) {
    super(...args);
    watch(this);
  }
};

function watch({ exports }: WasmInstance): void {
  for (const value of Object.values(exports))
    if (value instanceof wasm.Memory) memories.push(new WeakRef(value));
}

/** Returns the bytes of objects, buffers, and WebAssembly modules. */
export function held(): number {
  const { heapUsed, external } = process.memoryUsage();
  return memories.reduce(
    (sum, memory) => sum + (memory.deref()?.buffer.byteLength ?? 0),
    heapUsed + external,
  );
}

export function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc');
}

/** Returns the memory of a new module with one page. */
export async function moduleMemory(): Promise<WasmMemory> {
  const code = [
    [0, ...Buffer.from('asm'), 1, 0, 0, 0],
    [5, 3, 1, 0, 1],
    [7, 10, 1, 6, ...Buffer.from('memory'), 2, 0],
  ];
  const made = await wasm.instantiate(Uint8Array.from(code.flat()));
  const memory = 'instance' in made ? made.instance.exports.memory : null;
  if (memory instanceof wasm.Memory) return memory;
  throw new Error('the module has no memory');
}
