import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { z } from 'zod';

export interface QdrantServer {
  url: string;
  /** Method and path of each request, in the order received: `GET /collections`. */
  requests: string[];
  /** Version that it reports. */
  version: string;
  /** Required API key; null: none. */
  apiKey: string | null;
  /** Answers every request in place of the server; null: the server does. */
  instead: ((response: ServerResponse) => void) | null;
  /** Names of the existing collections. */
  collections(): string[];
  /** Removes a collection, as an operator may. */
  removeCollection(name: string): void;
  /** Adds a collection, as another program may. */
  addCollection(name: string): void;
  /** Returns the settings of a collection: vectors, graphs, indexed fields. */
  describe(name: string): unknown;
  close(): Promise<void>;
}

// The part of the API that the plugin uses. Anything else is refused, so that a misspelt field is noticed.
const Uuid = z.uuid();
const Owner = z.strictObject({ key: z.literal('user_id'), match: z.strictObject({ value: z.string() }) });
const HasId = z.strictObject({ has_id: z.array(Uuid) });
/** Searches and removals have to name one user. */
const OwnedFilter = z.strictObject({ must: z.tuple([Owner], HasId) });
const Payload = z.strictObject({ user_id: z.string(), id: z.string(), updated_at: z.int() });
const Point = z.strictObject({ id: Uuid, vector: z.array(z.number()), payload: Payload });
const NotNewer = z.strictObject({
  must: z.tuple([
    z.strictObject({ key: z.literal('updated_at'), range: z.strictObject({ lte: z.number() }) }),
  ]),
});
const Upsert = z.strictObject({ points: z.array(Point), update_filter: NotNewer });
const Bodies = {
  create: z.strictObject({
    vectors: z.strictObject({ size: z.int().min(1).max(65_535), distance: z.literal('Cosine') }),
    hnsw_config: z.strictObject({ m: z.int(), payload_m: z.int() }),
    metadata: z.record(z.string(), z.unknown()),
  }),
  index: z.strictObject({
    field_name: z.enum(['user_id', 'updated_at']),
    field_schema: z.union([
      z.strictObject({ type: z.literal('keyword'), is_tenant: z.literal(true) }),
      z.strictObject({ type: z.literal('integer') }),
    ]),
  }),
  batch: z.strictObject({ operations: z.array(z.strictObject({ upsert: Upsert })) }),
  query: z.strictObject({
    query: z.array(z.number()),
    filter: OwnedFilter,
    limit: z.int().min(1),
    with_payload: z.array(z.string()),
  }),
  remove: z.strictObject({ filter: OwnedFilter }),
};

type Point = z.infer<typeof Point>;
interface Collection {
  config: z.infer<typeof Bodies.create>;
  indexes: Record<string, unknown>;
  points: Map<string, Point>;
}

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * A server with the part of Qdrant's REST API that the plugin uses, on a real socket: everything in memory, real cosines,
 * conditional writes. It refuses searches and removals that name no owner.
 */
export async function startQdrantServer(): Promise<QdrantServer> {
  const collections = new Map<string, Collection>();
  const http = createServer(async (request, response) => {
    const { method = '', url = '' } = request;
    server.requests.push(`${method} ${url.split('?')[0]}`);
    if (server.instead) return server.instead(response);
    try {
      const body = method === 'PUT' || method === 'POST' ? await json(request) : undefined;
      if (url === '/') return reply(response, 200, { title: 'qdrant', version: server.version });
      if (server.apiKey !== null && request.headers['api-key'] !== server.apiKey)
        throw new Refusal(401, 'Must provide an API key or an Authorization bearer token');
      reply(response, 200, { result: answer(method, url, body), status: 'ok', time: 0.001 });
    } catch (error) {
      const status = error instanceof Refusal ? error.status : 400;
      reply(response, status, { status: { error: String(error) }, time: 0 });
    }
  });

  function answer(method: string, url: string, body: unknown): unknown {
    const { pathname, searchParams } = new URL(url, 'http://qdrant');
    const [, root, encoded, ...verb] = pathname.split('/');
    if (root !== 'collections') throw new Refusal(404, 'no such path');
    if (encoded === undefined) return { collections: [...collections.keys()].map(name => ({ name })) };
    const name = decodeURIComponent(encoded);
    const operation = `${method} ${verb.join('/')}`;
    if (operation === 'PUT ') return create(name, body);
    if (operation === 'DELETE ') return collections.delete(name);
    const collection = collections.get(name);
    if (!collection) throw new Refusal(404, `Not found: Collection \`${name}\` doesn't exist!`);
    if (operation === 'GET ') return describe(collection);
    if (operation === 'POST points/query') return query(collection, Bodies.query.parse(body));
    if (searchParams.get('wait') !== 'true') throw new Refusal(400, 'it would not be there yet');
    if (operation === 'PUT index') return index(collection, Bodies.index.parse(body));
    if (operation === 'POST points/batch') return batch(collection, Bodies.batch.parse(body));
    if (operation === 'POST points/delete') return remove(collection, Bodies.remove.parse(body));
    throw new Refusal(404, 'no such path');
  }

  function create(name: string, body: unknown): boolean {
    if (collections.has(name)) throw new Refusal(409, `Wrong input: Collection \`${name}\` already exists!`);
    collections.set(name, { config: Bodies.create.parse(body), indexes: {}, points: new Map() });
    return true;
  }

  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const server: QdrantServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests: [],
    version: '1.19.0',
    apiKey: null,
    instead: null,
    collections: () => [...collections.keys()],
    removeCollection: name => void collections.delete(name),
    addCollection(name) {
      const vectors = { size: 4, distance: 'Cosine' as const };
      const config = { vectors, hnsw_config: { m: 16, payload_m: 0 }, metadata: {} };
      collections.set(name, { config, indexes: {}, points: new Map() });
    },
    describe(name) {
      const collection = collections.get(name);
      return collection && describe(collection);
    },
    async close() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
  return server;
}

function describe({ config: { vectors, hnsw_config, metadata }, indexes, points }: Collection) {
  const config = { params: { vectors }, hnsw_config, metadata };
  return { status: 'green', points_count: points.size, config, payload_schema: indexes };
}

function index({ indexes }: Collection, { field_name, field_schema }: z.infer<typeof Bodies.index>) {
  indexes[field_name] = field_schema;
  return { operation_id: 0, status: 'completed' };
}

function batch({ config, points }: Collection, { operations }: z.infer<typeof Bodies.batch>) {
  return operations.map(
    ({
      upsert: {
        points: wanted,
        update_filter: {
          must: [{ range }],
        },
      },
    }) => {
      for (const { vector } of wanted) checkSize(config.vectors.size, vector);
      for (const point of wanted) {
        const held = points.get(point.id);
        if (!held || held.payload.updated_at <= range.lte) points.set(point.id, point);
      }
      return { operation_id: 0, status: 'completed' };
    },
  );
}

function query({ config, points }: Collection, { query, filter, limit }: z.infer<typeof Bodies.query>) {
  checkSize(config.vectors.size, query);
  const found = [...points.values()]
    .filter(point => matches(filter, point))
    .map(({ id, vector, payload }) => ({
      id,
      version: 0,
      score: cosine(vector, query),
      payload: { id: payload.id },
    }))
    .sort((a, b) => b.score - a.score);
  return { points: found.slice(0, limit) };
}

function remove({ points }: Collection, { filter }: z.infer<typeof Bodies.remove>) {
  for (const [id, point] of points) if (matches(filter, point)) points.delete(id);
  return { operation_id: 0, status: 'completed' };
}

function matches({ must: [owner, ...others] }: z.infer<typeof OwnedFilter>, { id, payload }: Point): boolean {
  return payload.user_id === owner.match.value && others.every(({ has_id }) => has_id.includes(id));
}

function checkSize(size: number, vector: readonly number[]): void {
  if (vector.length === size) return;
  throw new Refusal(400, `Wrong input: Vector dimension error: expected dim: ${size}, got ${vector.length}`);
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0);
  return dot(a, b) / (Math.sqrt(dot(a, a) * dot(b, b)) || 1);
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
