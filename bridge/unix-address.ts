import { relative } from 'node:path';

/** The address of a socket file. Addresses are short (about 100 bytes), so a long one is given from the working directory. */
export function unixAddress(path: string): string {
  const near = relative(process.cwd(), path);
  return near.length < path.length ? near : path;
}
