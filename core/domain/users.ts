import { AppError, toAppError } from '../errors.ts';
import type { Clock, User } from '../model.ts';
import type { IdentityProvider, Storage } from '../plugin.ts';
import { newId } from './ids.ts';

const MAX_NAME_CHARS = 100;
const MAX_NAMES_SHOWN = 10;

export type Users = ReturnType<typeof createUsers>;

/** The accounts of this server. The only writer of users. */
export function createUsers({
  storage,
  clock,
  identity,
}: {
  storage: Storage;
  clock: Clock;
  /** Asked late: the provider is a plugin, loaded after this. */
  identity: () => IdentityProvider;
}) {
  /** Makes a user whom this server's own identity provider vouches for. `conflict` when the name is taken. */
  async function add(name: string): Promise<User> {
    const user = fresh(name);
    if (await storage.users.byName(user.name))
      throw new AppError('conflict', `There is a user "${user.name}" already. Choose another name.`);
    await storage.users.insert(user);
    return user;
  }

  /** The user of this name; `not_found` names the users there are. */
  async function byName(name: string): Promise<User> {
    const user = await storage.users.byName(name.trim());
    if (user) return user;
    const names = (await storage.users.list()).map(other => other.name);
    throw new AppError('not_found', unknownName(name, names));
  }

  /** A new ID token of this user. */
  async function token(name: string): Promise<string> {
    const user = await byName(name);
    const provider = identity();
    if (!provider.issue || provider.issuer !== user.issuer) throw new AppError('conflict', foreign(user));
    return provider.issue({ subject: user.subject, name: user.name });
  }

  /** Makes the first user. Null when there is one already, also one that another process made just now. */
  async function ensureFirst(name: string): Promise<User | null> {
    const user = fresh(name);
    if ((await storage.users.list()).length > 0) return null;
    try {
      await storage.users.insert(user);
      return user;
    } catch (error) {
      if (toAppError(error).code === 'conflict') return null;
      throw error;
    }
  }

  function fresh(name: string): User {
    const now = clock.now();
    const id = newId(now);
    return {
      id,
      name: checkedName(name),
      issuer: identity().issuer,
      subject: id,
      createdAt: now,
      memoryAccess: true,
    };
  }

  return {
    add,
    byName,
    token,
    ensureFirst,
    /** Oldest first. */
    list: (): Promise<User[]> => storage.users.list(),
    /** Whom a verified ID token speaks for, or null. */
    fromIdentity: (claims: { issuer: string; subject: string }): Promise<User | null> =>
      storage.users.byIdentity(claims.issuer, claims.subject),
  };
}

function checkedName(name: string): string {
  const trimmed = name.trim();
  if (trimmed === '' || [...trimmed].length > MAX_NAME_CHARS || /\p{Cc}/u.test(trimmed))
    throw new AppError(
      'invalid_request',
      `A user's name has 1 to ${MAX_NAME_CHARS} characters, none of them a control character.`,
    );
  return trimmed;
}

function unknownName(name: string, names: string[]): string {
  if (names.length === 0) return `There is no user "${name}", nor any other: npx earshot user add <name>`;
  const more = names.length > MAX_NAMES_SHOWN ? ` and ${names.length - MAX_NAMES_SHOWN} more` : '';
  return `There is no user "${name}". There are: ${names.slice(0, MAX_NAMES_SHOWN).join(', ')}${more}. Add one: npx earshot user add <name>`;
}

function foreign(user: User): string {
  return `ID tokens of "${user.name}" are issued by ${user.issuer}: sign in there.`;
}
