export interface RemoteFile {
  url: string;
  /** Bytes. */
  size: number;
  sha256: string;
}

export function download(
  file: RemoteFile,
  path: string,
  options: { progress(bytes: number): void; until: number; idleMs?: number },
): Promise<void>;
