/** Returns a function that runs work one item at a time, in order. A rejection does not affect the following work. */
export function oneAtATime(): <T>(work: () => T | Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return work => {
    const mine = last.then(work);
    last = mine.catch(() => {});
    return mine;
  };
}
