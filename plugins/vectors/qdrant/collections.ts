/** Manages one collection for each space, created on first use. */
import { randomUUID } from 'node:crypto';
import type { PluginContext, VectorSpace } from '../../../core/contract/plugin.ts';
import type { Server } from './server.ts';

export interface Collection extends VectorSpace {
  /** Its name in Qdrant. */
  collection_name: string;
  /** Created with the collection and kept in its metadata; a recreated collection has a new one. */
  id: string;
}

export interface Collections {
  /** The existing collection, or null. Known collections are not looked up again. */
  find(name: string): Promise<Collection | null>;
  /** The collection, created if it is missing. */
  open(space: VectorSpace): Promise<Collection>;
  /** Drops the cached knowledge about the collection. */
  forget(name: string): void;
  list(): Promise<Collection[]>;
  drop(name: string): Promise<void>;
}

/** Key of the id in the metadata. */
const ID = 'earshot_space';
const INDEXES = {
  user_id: { type: 'keyword', is_tenant: true },
  updated_at: { type: 'integer' },
} as const;

/** @param error creates the `config_error` for a collection of that name that Earshot did not create */
export function openCollections(
  server: Server,
  prefix: string,
  error: PluginContext<never>['error'],
): Collections {
  const known = new Map<string, Collection>();
  /** Collections whose indexes this process has already requested. */
  const indexed = new Set<string>();

  async function find(name: string): Promise<Collection | null> {
    return known.get(name) ?? (await look(name));
  }

  async function look(name: string): Promise<Collection | null> {
    const collection_name = prefix + name;
    const info = await server.ask((api, init) => api.getCollection({ collection_name }, init));
    const { dimensions, id } = readInfo(info);
    if (dimensions === undefined || id === undefined) return null;
    const collection = { name, collection_name, dimensions, id };
    known.set(name, collection);
    return collection;
  }

  async function open(space: VectorSpace): Promise<Collection> {
    const found = (await find(space.name)) ?? (await make(space));
    if (!indexed.has(found.id)) await makeIndexes(found);
    return found;
  }

  /** Creates the collection. If two processes do so at once, one of them succeeds. */
  async function make({ name, dimensions }: VectorSpace): Promise<Collection> {
    const wanted = {
      collection_name: prefix + name,
      vectors: { size: dimensions, distance: 'Cosine' as const },
      // Searches are always limited to one user, so graphs are built per user only.
      hnsw_config: { m: 0, payload_m: 16 },
      metadata: { [ID]: randomUUID() },
    };
    await server.ask((api, init) => api.createCollection(wanted, init));
    const made = await look(name);
    if (made) return made;
    const cure = 'take another plugins.qdrant.prefix';
    throw error(
      'config_error',
      `qdrant: the collection ${prefix}${name} is not one that Earshot made; ${cure}`,
    );
  }

  /** Requested for existing collections too: the process that created one may have stopped before this step. */
  async function makeIndexes({ collection_name, id }: Collection): Promise<void> {
    for (const [field_name, field_schema] of Object.entries(INDEXES)) {
      const wanted = { collection_name, field_name, field_schema, wait: true };
      await server.ask((api, init) => api.createFieldIndex(wanted, init));
    }
    indexed.add(id);
  }

  return {
    find,
    open,
    forget: name => void known.delete(name),
    async list() {
      const { collections = [] } = (await server.ask((api, init) => api.getCollections({}, init))) ?? {};
      const ours = collections.filter(({ name }) => name.startsWith(prefix));
      const all = await Promise.all(ours.map(({ name }) => look(name.slice(prefix.length))));
      return all.filter(collection => collection !== null);
    },
    async drop(name) {
      known.delete(name);
      const gone = { collection_name: prefix + name };
      await server.ask((api, init) => api.deleteCollection(gone, init));
    },
  };
}

interface Info {
  config?: { params?: { vectors?: { size?: number } }; metadata?: Record<string, unknown> | null };
}

function readInfo(result: unknown): { dimensions?: number | undefined; id?: string | undefined } {
  const { config } = (result ?? {}) as Info; // shaped as Qdrant's API description says; missing fields are undefined
  const id = config?.metadata?.[ID];
  return { dimensions: config?.params?.vectors?.size, id: typeof id === 'string' ? id : undefined };
}
