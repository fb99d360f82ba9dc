/** The process that makes the archive of a backup: to hash and compress gigabytes would delay what the server answers. */
import { stat } from 'node:fs/promises';
import { AppError } from '../runtime/errors.ts';
import { createKey, hashFile, readArchive, type Source, writeArchive } from './archive.ts';
import { unpack } from './restore.ts';
import { type Archived, type ArchivingRequest, serveTask } from './task.ts';

await serveTask<'archive'>(archive);

async function archive(request: ArchivingRequest): Promise<Archived> {
  const { manifest, recipients, target, rehearsal } = request;
  const files: Source[] = [];
  for (const file of request.files) files.push({ ...file, sha256: await hashFile(file.from, file.bytes) });
  // The private key of an encrypted backup is elsewhere: this one opens it here as well, and is then forgotten.
  const once = recipients.length > 0 ? await createKey() : null;
  await writeArchive(target, { ...manifest, files }, once ? [...recipients, once.recipient] : []);
  const { size: bytes } = await stat(target);
  const identity = once?.identity ?? null;
  let notRehearsed: string | undefined;
  if (rehearsal !== null)
    notRehearsed = await unpack({ file: target, identity, into: rehearsal }).then(
      () => undefined,
      lackOfRoom,
    );
  if (rehearsal === null || notRehearsed !== undefined)
    await readArchive(target, identity, async () => async () => null);
  return { bytes, ...(notRehearsed !== undefined && { notRehearsed }) };
}

function lackOfRoom(error: unknown): string {
  if (error instanceof AppError && error.code === 'storage_full') return error.message;
  throw error;
}
