import { z } from 'zod';
import type { Clock } from '../../../core/contract/model.ts';
import type { Plugin, VectorIndex } from '../../../core/contract/plugin.ts';
import { contextOf } from '../stt/context.ts';

/** Sets an index up as core does: options parsed, resources released when setup throws. */
export async function startIndex<Options>(
  plugin: Plugin<Options>,
  dataDir: string,
  options: unknown = {},
  clock?: Clock,
) {
  const { context, failed, logged, stop } = contextOf(clock);
  const schema = plugin.options?.(z);
  if (schema === undefined) throw new Error(`${plugin.name} has no options`);
  try {
    const { vectors } = await plugin.setup({ ...context, dataDir, options: schema.parse(options) });
    if (vectors === undefined) throw new Error(`${plugin.name} keeps no vectors`);
    return { index: vectors satisfies VectorIndex, failed, logged, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
