import type { Clock, Person } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { checkExpected } from '../expected.ts';
import { isId, newId } from '../ids.ts';

const MAX_PEOPLE_PER_USER = 1000;

export type People = ReturnType<typeof createPeople>;

/** Manages the people whom a user talks with. Two people may have the same name. */
export function createPeople({ storage, clock }: { storage: Storage; clock: Clock }) {
  /** `conflict` where there are too many. */
  async function create(userId: string, name: string): Promise<Person> {
    const now = clock.now();
    const person = { id: newId(now), userId, name, createdAt: now };
    await storage.transaction('create person', async tx => {
      if ((await tx.people.list(userId)).length >= MAX_PEOPLE_PER_USER)
        throw new AppError('conflict', `At most ${MAX_PEOPLE_PER_USER} people: delete one first`);
      await tx.people.insert(person);
    });
    return person;
  }

  /** `not_found`. */
  async function rename(
    userId: string,
    id: string,
    name: string,
    expected?: { name?: string },
  ): Promise<Person> {
    return storage.transaction('rename person', async tx => {
      const found = isId(id) ? await tx.people.get(userId, id) : null;
      if (!found) throw notFound();
      checkExpected({ name: found.name }, expected, { name });
      await tx.people.rename(userId, id, name);
      return { ...found, name };
    });
  }

  /** Deletes a person. Their segments stay, without a name. `not_found`. */
  async function remove(userId: string, id: string): Promise<void> {
    await storage.transaction('delete person', async tx => {
      if (!isId(id) || !(await tx.people.remove(userId, id))) throw notFound();
      await tx.segments.forgetPerson(userId, id);
      await tx.voices.forgetPerson(userId, id);
    });
  }

  /**
   * Merges two people into one: segments and voice of the other become those of this one. `not_found`,
   * `invalid_request`.
   */
  async function merge(userId: string, id: string, other: string): Promise<Person> {
    return storage.transaction('merge people', async tx => {
      const into = isId(id) ? await tx.people.get(userId, id) : null;
      const from = isId(other) ? await tx.people.get(userId, other) : null;
      if (!into || !from) throw notFound();
      if (id === other) throw new AppError('invalid_request', 'A person cannot be merged with itself');
      await tx.segments.forgetPerson(userId, other, id);
      await tx.voices.movePerson(userId, other, id);
      await tx.people.remove(userId, other);
      return into;
    });
  }

  return {
    merge,
    /** Oldest first. */
    list: (userId: string): Promise<Person[]> => storage.people.list(userId),
    create,
    rename,
    remove,
  };
}

function notFound(): AppError {
  return new AppError('not_found', 'Person not found');
}
