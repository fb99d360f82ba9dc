/** The signed list of versions, from which servers learn of updates. */
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../runtime/errors.ts';

/** Prefix of the signed text, so that the signature is valid for this purpose only. */
const PURPOSE = 'earshot updates 1\n';
const VERSION = /^(\d{1,5})\.(\d{1,5})\.(\d{1,5})$/;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const MAX_CHARS = 256 * 1024;

const Release = z.strictObject({
  version: z.string().regex(VERSION, 'must be three numbers such as 0.2.0'),
  released: z.iso.date(),
  /** Whether it fixes a vulnerability. */
  security: z.boolean(),
  /** Reason to update, for people. */
  note: z
    .string()
    .max(500)
    .regex(/^\P{Cc}*$/u, 'must be one line'),
});
export type Release = z.infer<typeof Release>;

const List = z.strictObject({
  /** Instant of the signature: an older list than the last is refused. */
  issued: z.iso.datetime(),
  releases: z.array(Release).min(1).max(200),
});
export type UpdateList = z.infer<typeof List>;

/** `list`: the text of a list, whose UTF-8 bytes are signed. */
const Signed = z.strictObject({ list: z.string().max(MAX_CHARS), signature: z.base64() });

/** Parses an ed25519 key: its 32 bytes in Base64. */
export function publicKeyOf(text: string): KeyObject {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== KEY_BYTES || bytes.toString('base64') !== text)
    throw new AppError('config_error', 'updates.publicKey must be the 32 bytes of an ed25519 key in Base64');
  return createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') },
    format: 'jwk',
  });
}

export function textOfPublicKey(key: KeyObject): string {
  return Buffer.from(String(key.export({ format: 'jwk' }).x), 'base64url').toString('base64');
}

/** Returns the file to publish. @throws {z.ZodError} where the list is not one */
export function signList(list: unknown, privateKey: KeyObject): string {
  const text = JSON.stringify(List.parse(list));
  const signature = sign(null, Buffer.from(PURPOSE + text), privateKey).toString('base64');
  return `${JSON.stringify({ list: text, signature }, null, 2)}\n`;
}

/** Returns the list in a published file. @throws {AppError} `upstream_error` */
export function readSigned(text: string, publicKey: KeyObject): UpdateList {
  const signed = Signed.safeParse(fromJson(text));
  if (!signed.success) throw refused('it is no signed list');
  const { list, signature } = signed.data;
  const bytes = Buffer.from(signature, 'base64');
  const isSigned =
    bytes.length === SIGNATURE_BYTES && verify(null, Buffer.from(PURPOSE + list), publicKey, bytes);
  if (!isSigned) throw refused('its signature is wrong');
  const parsed = List.safeParse(fromJson(list));
  if (!parsed.success) throw refused('this version of Earshot cannot read it');
  return parsed.data;
}

/** Returns the newest release after this version, which names a hole that any release since has closed. */
export function newerThan(version: string, { releases }: UpdateList): Release | null {
  const newer = releases
    .filter(release => compare(release.version, version) > 0)
    .sort((a, b) => compare(b.version, a.version));
  const [newest] = newer;
  return newest ? { ...newest, security: newer.some(({ security }) => security) } : null;
}

function compare(one: string, other: string): number {
  const [a, b] = [numbersOf(one), numbersOf(other)];
  const at = a.findIndex((number, index) => number !== b[index]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** Returns the numbers of a version. The part after a hyphen, of a pre-release, is ignored. */
function numbersOf(version: string): number[] {
  return (
    VERSION.exec(version.split('-')[0] ?? '')
      ?.slice(1)
      .map(Number) ?? []
  );
}

/** Refuses a list, and says why. */
export function refused(why: string): AppError {
  return new AppError('upstream_error', `The list of updates is refused: ${why}`);
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
