import type { Clock, Role, User } from '../../contract/model.ts';
import type { Storage, VerifiedIdentity } from '../../contract/plugin.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { EventBus, OnEnd } from '../../runtime/events.ts';
import { isId, newId } from '../ids.ts';
import type { Identities } from './identities.ts';
import { removeSessionsIn, type Sessions } from './sessions.ts';

export const MAX_NAME_CHARS = 100;
const MAX_NAMES_SHOWN = 10;
/** Highest number that is appended to names that are taken. */
const MAX_NAMESAKES = 1000;

/** Subject of a verified token, and when it was issued. */
type Vouched = Omit<VerifiedIdentity, 'expiresAt'>;

export type Users = ReturnType<typeof createUsers>;

/** The accounts of this server; the only writer of users. */
export function createUsers({
  storage,
  clock,
  identities,
  sessions,
  events,
}: {
  storage: Storage;
  clock: Clock;
  identities: Identities;
  sessions: Pick<Sessions, 'isValid'>;
  events: EventBus;
}) {
  /** Creates a user of this server's own identity provider. `conflict` when the name is taken. */
  async function add(name: string): Promise<User> {
    const user = own(name);
    await requireFree(user);
    await storage.users.insert(user);
    return user;
  }

  async function requireFree({ id, nameKey }: Pick<User, 'id' | 'nameKey'>): Promise<void> {
    const taken = await storage.users.byName(nameKey);
    if (taken === null || taken.id === id) return;
    throw new AppError('conflict', `There is a user "${taken.name}" already. Choose another name.`);
  }

  /** Renames an account; its id stays. `conflict` when the name is taken. */
  async function rename(user: User, name: string): Promise<User> {
    const patch = named(checkedName(name));
    await requireFree({ id: user.id, ...patch });
    await storage.users.update(user.id, patch);
    return { ...user, ...patch };
  }

  /**
   * Disables or enables an account. While it is disabled, no credential of it is accepted, and its connections end.
   */
  async function setDisabled(user: User, isDisabled: boolean, onEnd?: OnEnd): Promise<User> {
    const disabledAt = isDisabled ? (user.disabledAt ?? clock.now()) : null;
    await storage.users.update(user.id, { disabledAt });
    if (isDisabled) events.emit('credential.revoked', { userId: user.id, keyId: 'all', onEnd });
    return { ...user, disabledAt };
  }

  async function setRole(user: User, role: Role): Promise<User> {
    await storage.users.update(user.id, { role });
    return { ...user, role };
  }

  /** Returns the user of this name; `not_found` lists the existing ones. */
  async function byName(name: string): Promise<User> {
    const user = await storage.users.byName(nameKeyOf(name));
    if (user) return user;
    const names = (await storage.users.list()).map(other => other.name);
    throw new AppError('not_found', unknownName(name, names));
  }

  /** The same; `conflict` where the user belongs to another identity provider. */
  async function ofOwn(name: string): Promise<User> {
    const user = await byName(name);
    if (identities.own().issuer !== user.issuer) throw new AppError('conflict', foreign(user));
    return user;
  }

  /** Creates an ID token for this user. */
  async function token(name: string): Promise<string> {
    const user = await ofOwn(name);
    if (user.disabledAt !== null)
      throw new AppError('conflict', `"${user.name}" is disabled: earshot user enable ${user.name}`);
    const { token } = await identities.own().issue({ subject: user.subject, name: user.name });
    return token;
  }

  /** Creates the first user. Null when there is one already, also one that another process created just now. */
  async function ensureFirst(name: string): Promise<User | null> {
    if (!identities.hasOwn()) return null;
    const user = own(name);
    if ((await storage.users.list()).length > 0) return null;
    return unlessTaken(user);
  }

  async function unlessTaken(user: User): Promise<User | null> {
    try {
      await storage.users.insert(user);
      return user;
    } catch (error) {
      if (toAppError(error).code === 'conflict') return null;
      throw error;
    }
  }

  /**
   * Finds the user of a verified ID token; null if there is none, or the token was issued before a sign-out, or for a session
   * that has ended.
   * @param mayJoin creates an account for an unknown subject
   */
  async function fromIdentity(verified: Vouched, mayJoin: boolean): Promise<User | null> {
    const { issuer, subject, issuedAt, session } = verified;
    const found = await storage.users.byIdentity(issuer, subject);
    const user = found ?? (mayJoin ? await join(verified) : null);
    if (!user || user.disabledAt !== null) return null;
    if (session !== undefined) return (await sessions.isValid(user.id, session)) ? user : null;
    return issuedAt > (user.signedOutAt ?? Number.NEGATIVE_INFINITY) ? user : null;
  }

  /** Makes a name unique on this server: a second Anna becomes "Anna (2)". */
  async function join({ issuer, subject, name }: Vouched): Promise<User> {
    const wanted = nameFrom(name);
    for (let number = 1; number <= MAX_NAMESAKES; number += 1) {
      const tried = number === 1 ? wanted : `${wanted} (${number})`;
      if (await storage.users.byName(nameKeyOf(tried))) continue;
      const joined = await unlessTaken({ ...fresh(), ...named(tried), issuer, subject });
      const user = joined ?? (await storage.users.byIdentity(issuer, subject)); // another request was faster
      if (user) return user;
    }
    throw new AppError('conflict', `There are too many users "${wanted}"`);
  }

  function fresh() {
    const now = clock.now();
    const since = { createdAt: now, signedOutAt: null, disabledAt: null };
    return { id: newId(now), ...since, memoryAccess: true, role: 'owner' as const };
  }

  function own(name: string): User {
    const user = fresh();
    return { ...user, ...named(checkedName(name)), issuer: identities.own().issuer, subject: user.id };
  }

  /** Invalidates all ID tokens of this user, of any provider. API keys stay valid. */
  async function signOut(name: string, onEnd?: OnEnd): Promise<User> {
    const user = await byName(name);
    await storage.transaction('sign out', async tx => {
      await tx.users.update(user.id, { signedOutAt: clock.now() });
      await removeSessionsIn(tx, user.id);
    });
    events.emit('credential.revoked', { userId: user.id, keyId: null, onEnd });
    return user;
  }

  return {
    add,
    byName,
    ofOwn,
    token,
    ensureFirst,
    fromIdentity,
    signOut,
    rename,
    setDisabled,
    setRole,
    /** `not_found`. */
    async get(id: string): Promise<User> {
      const user = isId(id) ? await storage.users.get(id) : null;
      if (!user) throw new AppError('not_found', 'Account not found');
      return user;
    },
    /** Sets whether programs may read this user's memories. `not_found` lists the existing users. */
    async setMemoryAccess(name: string, isOpen: boolean): Promise<User> {
      const user = await byName(name);
      await storage.users.setMemoryAccess(user.id, isOpen);
      return { ...user, memoryAccess: isOpen };
    },
    /** Oldest first. */
    list: (): Promise<User[]> => storage.users.list(),
  };
}

/** Names are compared without regard to case and Unicode composition. */
export function nameKeyOf(name: string): string {
  return name.trim().normalize('NFKC').toLowerCase();
}

function named(name: string): Pick<User, 'name' | 'nameKey'> {
  return { name, nameKey: nameKeyOf(name) };
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

/** Shortens a name so that a number can be appended. */
function nameFrom(name: string): string {
  const plain = name.toWellFormed().replaceAll(/\p{Cc}+/gu, ' ');
  return (
    [...plain.trim()]
      .slice(0, MAX_NAME_CHARS - 10)
      .join('')
      .trim() || 'someone'
  );
}

function unknownName(name: string, names: string[]): string {
  if (names.length === 0) return `There is no user "${name}", nor any other: earshot user add <name>`;
  const more = names.length > MAX_NAMES_SHOWN ? ` and ${names.length - MAX_NAMES_SHOWN} more` : '';
  return `There is no user "${name}". There are: ${names.slice(0, MAX_NAMES_SHOWN).join(', ')}${more}. Add one: earshot user add <name>`;
}

function foreign(user: User): string {
  return `"${user.name}" is signed in by ${user.issuer}: passwords and ID tokens of that account are made there.`;
}
