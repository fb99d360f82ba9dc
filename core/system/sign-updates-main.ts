/**
 * Signs the list of versions for maintainers: `npm run updates -- key FILE` makes a key, and prints its public part;
 * `npm run updates -- sign LIST --key FILE` prints the file to publish.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { signList, textOfPublicKey } from './update-list.ts';

const USAGE = 'Usage: npm run updates -- key FILE | sign LIST --key FILE';

function makeKey(file: string): string {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  writeFileSync(file, privateKey.export({ format: 'pem', type: 'pkcs8' }), { flag: 'wx', mode: 0o600 });
  return `${textOfPublicKey(publicKey)}\n`;
}

/** Signs `{"releases": […]}`, as of now. */
function signFile(file: string, keyFile: string): string {
  const { releases }: { releases: unknown } = JSON.parse(readFileSync(file, 'utf8'));
  const key = createPrivateKey(readFileSync(keyFile));
  process.stderr.write(`Signed for the public key ${textOfPublicKey(createPublicKey(key))}\n`);
  return signList({ issued: new Date().toISOString(), releases }, key);
}

function main(): string {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { key: { type: 'string' } } });
  const [what, file] = positionals;
  if (what === 'key' && file !== undefined) return makeKey(file);
  if (what === 'sign' && file !== undefined && values.key !== undefined) return signFile(file, values.key);
  throw new Error(USAGE);
}

try {
  process.stdout.write(main());
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
