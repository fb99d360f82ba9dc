/** A collection for each space, made when it is needed. */
import { randomUUID } from 'node:crypto';
import type { PluginContext, VectorSpace } from '../../../core/plugin.ts';
import type { Server } from './server.ts';

export interface Collection extends VectorSpace {
  path: string;
  /** Made with the collection, and kept in its metadata: one that is made anew has another. */
  id: string;
}

export interface Collections {
  /** As it is there; null when it is not. What is known is not asked for again. */
  find(name: string): Promise<Collection | null>;
  /** As it is there, made where it is missing. */
  open(space: VectorSpace): Promise<Collection>;
  /** What is known of it is not so any more. */
  forget(name: string): void;
  list(): Promise<Collection[]>;
  drop(name: string): Promise<void>;
}

/** The name in the metadata. */
const ID = 'earshot_space';

/** @param error makes a `config_error` where a collection of that name is there, and not ours */
export function openCollections(
  server: Server,
  prefix: string,
  error: PluginContext<never>['error'],
): Collections {
  const known = new Map<string, Collection>();
  /** Collections whose indexes were asked for by this process. */
  const indexed = new Set<string>();
  const pathOf = (name: string) => `/collections/${encodeURIComponent(prefix + name)}`;

  async function find(name: string): Promise<Collection | null> {
    return known.get(name) ?? (await look(name));
  }

  async function look(name: string): Promise<Collection | null> {
    const path = pathOf(name);
    const { dimensions, id } = readInfo(await server.ask('GET', path));
    if (dimensions === undefined || id === undefined) return null;
    const collection = { name, path, dimensions, id };
    known.set(name, collection);
    return collection;
  }

  async function open(space: VectorSpace): Promise<Collection> {
    const found = (await find(space.name)) ?? (await make(space));
    if (!indexed.has(found.id)) await makeIndexes(found);
    return found;
  }

  /** Of two that make it at once, one does. */
  async function make({ name, dimensions }: VectorSpace): Promise<Collection> {
    await server.ask('PUT', pathOf(name), {
      vectors: { size: dimensions, distance: 'Cosine' },
      // Nobody searches in all users' vectors: graphs are made for each user alone.
      hnsw_config: { m: 0, payload_m: 16 },
      metadata: { [ID]: randomUUID() },
    });
    const made = await look(name);
    if (made) return made;
    const cure = 'take another plugins.qdrant.prefix';
    throw error(
      'config_error',
      `qdrant: the collection ${prefix}${name} is not one that Earshot made; ${cure}`,
    );
  }

  /** Also where they are there: who made the collection may not have come to it. */
  async function makeIndexes({ path, id }: Collection): Promise<void> {
    const fields = { user_id: { type: 'keyword', is_tenant: true }, updated_at: { type: 'integer' } };
    for (const [name, schema] of Object.entries(fields))
      await server.ask('PUT', `${path}/index?wait=true`, { field_name: name, field_schema: schema });
    indexed.add(id);
  }

  return {
    find,
    open,
    forget: name => void known.delete(name),
    async list() {
      const names = readNames(await server.ask('GET', '/collections')).filter(name =>
        name.startsWith(prefix),
      );
      const all = await Promise.all(names.map(name => look(name.slice(prefix.length))));
      return all.filter(collection => collection !== null);
    },
    async drop(name) {
      known.delete(name);
      await server.ask('DELETE', pathOf(name));
    },
  };
}

interface Info {
  config?: { params?: { vectors?: { size?: number } }; metadata?: Record<string, unknown> | null };
}

function readInfo(result: unknown): { dimensions?: number | undefined; id?: string | undefined } {
  const { config } = (result ?? {}) as Info; // as the interface's description has it; what is missing is undefined
  const id = config?.metadata?.[ID];
  return { dimensions: config?.params?.vectors?.size, id: typeof id === 'string' ? id : undefined };
}

function readNames(result: unknown): string[] {
  const { collections = [] } = (result ?? {}) as { collections?: { name: string }[] }; // as its description has it
  return collections.map(({ name }) => name);
}
