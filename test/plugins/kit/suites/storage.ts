import type { TestFn } from 'ava';
import { type StorageSubject, storageChecks } from '../../../../plugins/kit/suites/storage.ts';

/** Registers all checks for one storage; `open` gives each of them an empty one. */
export function storageConformance(test: TestFn, name: string, open: () => Promise<StorageSubject>): void {
  for (const check of storageChecks) {
    test(`${name}: ${check.title}`, async t => {
      const subject = await open();
      try {
        await t.notThrowsAsync(() => check.run(subject));
      } finally {
        await subject.close();
      }
    });
  }
}
