/** A process that attacks, or sends as much as an honest client would, until it is killed. */
import type { AttackPlan, AttackTold } from './attack.ts';
import { attackOf } from './attacks.ts';

process.once('message', ({ name, kind, target }: AttackPlan) => {
  const counts: Record<string, number> = {};
  const count = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  process.once('message', () => {
    process.send?.({ event: 'counted', counts } satisfies AttackTold, () => process.exit(0));
  });
  void attackOf(name)[kind](target, count);
});
