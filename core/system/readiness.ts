import type { Readiness, Status } from '../control/commands.ts';
import type { Models } from './models.ts';

export interface ReadyPart extends Readiness {
  /** The model that is missing. */
  download: { model: string; bytes: number } | null;
}

/** Tells what works, as the status does, and which missing models can be downloaded. */
export function createReadiness({
  status,
  models,
}: {
  status(): Promise<Status>;
  models: Pick<Models, 'missingOf'>;
}) {
  async function withDownload(part: Readiness): Promise<ReadyPart> {
    const model = part.ok ? null : await models.missingOf(part.name);
    return { ...part, download: model && { model: model.name, bytes: model.bytes } };
  }
  return async () => {
    const { version, ready } = await status();
    return { version, parts: await Promise.all(ready.map(withDownload)) };
  };
}
