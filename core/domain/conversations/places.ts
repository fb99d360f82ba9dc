/** Places where conversations happened, and names that their owners give to them. */
import type { Clock, Place } from '../../contract/model.ts';
import type { Position, Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { createPace } from '../../runtime/pace.ts';
import { checkExpected } from '../expected.ts';
import { isId, newId } from '../ids.ts';

/** Radius of a place in metres: it covers a house with its garden, and the error of a phone's position. */
export const PLACE_RADIUS_M = 150;
const MAX_PLACES_PER_USER = 200;
/** Places without a name that are found, the most recent ones. */
const MAX_UNNAMED = 200;
/** Conversations whose positions are looked at, the newest ones. */
export const MAX_POSITIONS = 10_000;
const METRES_PER_DEGREE = 111_195;

type Point = Pick<Place, 'latitude' | 'longitude'>;

/** A place, with or without a name, and the conversations there. */
export interface VisitedPlace extends Point {
  /** Null: it has no name. */
  id: string | null;
  name: string | null;
  /** Address that came with the newest conversation there that has one. */
  address: string | null;
  conversations: number;
  /** When the last one began; null: there was none. */
  lastAt: number | null;
}

export type Places = ReturnType<typeof createPlaces>;

export function createPlaces({ storage, clock }: { storage: Storage; clock: Clock }) {
  /**
   * Lists the named places, and those where conversations happened, most conversations first. Positions that are in no
   * place yet are grouped around the newest one.
   */
  async function list(userId: string): Promise<VisitedPlace[]> {
    const shown = { statuses: ['completed' as const], discarded: false, locked: false };
    const page = { limit: MAX_POSITIONS, offset: 0 };
    const positions = await storage.conversations.positions(userId, { ...shown, ...page });
    const named = await storage.places.list(userId);
    const found = await withGroups(named.map(visited), positions);
    await count(found, positions);
    return found.sort((a, b) => b.conversations - a.conversations || (b.lastAt ?? 0) - (a.lastAt ?? 0));
  }

  /** `conflict` where there are too many. */
  async function create(userId: string, draft: Point & { name: string }): Promise<Place> {
    const now = clock.now();
    const place = { ...draft, id: newId(now), userId, createdAt: now };
    await storage.transaction('create place', async tx => {
      if ((await tx.places.list(userId)).length >= MAX_PLACES_PER_USER)
        throw new AppError('conflict', `At most ${MAX_PLACES_PER_USER} places: delete one first`);
      await tx.places.insert(place);
    });
    return place;
  }

  /** `not_found`, `conflict` where its name is not as expected. */
  async function rename(
    userId: string,
    id: string,
    name: string,
    expected?: { name?: string },
  ): Promise<Place> {
    return storage.transaction('rename place', async tx => {
      const found = isId(id) ? await tx.places.get(userId, id) : null;
      if (!found) throw notFound();
      checkExpected({ name: found.name }, expected, { name });
      await tx.places.rename(userId, id, name);
      return { ...found, name };
    });
  }

  /** Deletes the name of a place; its conversations stay. `not_found`. */
  async function remove(userId: string, id: string): Promise<void> {
    if (!isId(id) || !(await storage.places.remove(userId, id))) throw notFound();
  }

  return { list, create, rename, remove };
}

/** Adds a place for each position that is in none yet. */
async function withGroups(
  known: readonly VisitedPlace[],
  positions: readonly Position[],
): Promise<VisitedPlace[]> {
  const pace = createPace();
  const found = [...known];
  for (const position of positions) {
    if (found.length >= known.length + MAX_UNNAMED) break;
    if (!found.some(place => isAt(place, position)))
      found.push(visited({ ...position, id: null, name: null }));
    await pace();
  }
  return found;
}

async function count(places: readonly VisitedPlace[], positions: readonly Position[]): Promise<void> {
  const pace = createPace();
  for (const position of positions) {
    for (const place of places) {
      if (!isAt(place, position)) continue;
      place.conversations += 1;
      place.lastAt = Math.max(place.lastAt ?? 0, position.at);
      place.address ??= position.address;
    }
    await pace();
  }
}

function visited({ id, name, latitude, longitude }: Point & Pick<VisitedPlace, 'id' | 'name'>): VisitedPlace {
  return { id, name, latitude, longitude, address: null, conversations: 0, lastAt: null };
}

/** Measures as `near` does in the storage. */
function isAt({ latitude, longitude }: Point, position: Point): boolean {
  const north = Math.abs(position.latitude - latitude) * METRES_PER_DEGREE;
  if (north > PLACE_RADIUS_M) return false;
  const apart = Math.abs(position.longitude - longitude);
  const narrowing = Math.cos((latitude * Math.PI) / 180);
  const east = Math.min(apart, 360 - apart) * METRES_PER_DEGREE * narrowing;
  return north * north + east * east <= PLACE_RADIUS_M * PLACE_RADIUS_M;
}

function notFound(): AppError {
  return new AppError('not_found', 'Place not found');
}
