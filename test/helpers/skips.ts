import type { ExecutionContext } from 'ava';

/** Reasons for which tests may be skipped in CI, if `.ci/run` has listed them. */
type Subject = 'browser' | 'dbus' | 'disk' | 'proxies';

/** Says that tests are skipped. Fails where CI=true, unless `.ci/run` has listed the subject in EARSHOT_SKIP. */
export function reportSkipped(t: ExecutionContext, subject: Subject, tests: string, reason: string): void {
  t.log(`SKIPPED: ${tests}. ${reason}`);
  const isListed = (process.env.EARSHOT_SKIP ?? '').split(' ').includes(subject);
  t.false(process.env.CI !== undefined && !isListed, `${tests} may not be skipped in CI. ${reason}`);
}
