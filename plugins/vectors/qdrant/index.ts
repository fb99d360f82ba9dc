import type { Plugin, VectorIndex } from '../../../core/contract/plugin.ts';
import { directionOf, isZero } from '../../kit/geometry/direction.ts';
import { accountKey, serverAddress, timeLimit } from '../../kit/options.ts';
import { openCollections } from './collections.ts';
import { ownedBy, pointId, readHits, upserts } from './points.ts';
import { connectServer } from './server.ts';

interface Options {
  url: string;
  apiKey?: string | undefined;
  prefix: string;
  timeoutMs: number;
}

/** First version with conditional writes and collection metadata; older ones silently ignore both. */
const OLDEST = [1, 16] as const;

export default {
  name: 'qdrant',
  api: 1,
  title: 'A Qdrant server, for more vectors than one machine should hold',
  options: z =>
    z.strictObject({
      url: serverAddress(z).default('http://127.0.0.1:6333').describe('Where Qdrant answers REST'),
      apiKey: accountKey(z)
        .optional()
        .describe('Key that may read, write and create collections, if the server requires one'),
      prefix: z
        .string()
        .regex(/^[A-Za-z0-9_-]{1,40}$/, 'must be 1 to 40 letters, digits, _ or -')
        .default('earshot-')
        .describe('Prefix of the names of all collections here'),
      timeoutMs: timeLimit(z, { usual: 5000, most: 60_000 }).describe(
        'Time limit for an answer, in milliseconds',
      ),
    }),
  async setup(context) {
    const { error, options } = context;
    const server = await connectServer(options, context);
    const collections = openCollections(server, options.prefix, error);

    await server.version().then(checkVersion, failure => {
      // A slow server may recover, so the plugin is tried again later.
      throw failure.code === 'timeout'
        ? error('upstream_error', failure.message, { cause: failure })
        : failure;
    });
    await collections.list(); // otherwise a wrong key would only show at the first use

    function checkVersion(version: string): void {
      const [major = 0, minor = 0] = version.split('.').map(Number);
      if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
      const found = version === '' ? 'is no Qdrant' : `is Qdrant ${version}`;
      const cure = `it must be ${OLDEST.join('.')} or newer`;
      throw error('config_error', `qdrant: what answers at ${options.url} ${found}; ${cure}`);
    }

    const index: VectorIndex = {
      async upsert(space, items) {
        const collection = await collections.open(space);
        const { collection_name } = collection;
        for (const operations of upserts(collection, items)) {
          const batch = { collection_name, wait: true, operations };
          if ((await server.ask((api, init) => api.batchUpdate(batch, init))) !== null) continue;
          collections.forget(space.name);
          throw error(
            'upstream_error',
            `qdrant: the collection of ${space.name} is gone; it is made anew next time`,
          );
        }
      },
      async search({ name }, userId, vector, limit, signal) {
        signal.throwIfAborted();
        const collection = await collections.find(name);
        if (collection === null) return [];
        const direction = directionOf(vector, collection);
        if (isZero(direction)) return [];
        const filter = { must: [ownedBy(userId)] };
        const { collection_name } = collection;
        const question = { collection_name, query: [...direction], filter, limit, with_payload: ['id'] };
        const result = await server.ask((api, init) => api.queryPoints(question, init), signal);
        if (result !== null) return readHits(result);
        collections.forget(name);
        return [];
      },
      async remove({ name }, userId, ids) {
        const collection = await collections.find(name);
        if (collection === null) return;
        const has_id = ids.map(id => pointId(userId, id));
        const filter = { must: [ownedBy(userId), { has_id }] };
        const removal = { collection_name: collection.collection_name, wait: true, filter };
        const result = await server.ask((api, init) => api.deletePoints(removal, init));
        if (result === null) collections.forget(name);
      },
      spaces: async () => (await collections.list()).map(({ name, id }) => ({ name, id })),
      drop: collections.drop,
    };
    return { vectors: refusing(index, message => error('invalid_input', `qdrant: ${message}`)) };
  },
} satisfies Plugin<Options>;

/** Refuses vectors of the wrong length, which is a mistake of the caller. */
function refusing(index: VectorIndex, refusal: (message: string) => Error): VectorIndex {
  const told = (thrown: unknown): never => {
    throw thrown instanceof RangeError ? refusal(thrown.message) : thrown;
  };
  return {
    ...index,
    upsert: (...args) => index.upsert(...args).catch(told),
    search: (...args) => index.search(...args).catch(told),
  };
}
