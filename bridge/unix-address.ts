import { relative } from 'node:path';

/** Returns the address of a socket file. Addresses have about 100 bytes at most, so a long path is made relative to the working directory. */
export function unixAddress(path: string): string {
  const near = relative(process.cwd(), path);
  return near.length < path.length ? near : path;
}
