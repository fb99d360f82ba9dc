import { UPDATES } from '../../control/commands.ts';
import type { Check } from './examination.ts';
import { findingsOf } from './finding.ts';

const { good, note, doubt } = findingsOf('Server');
const CURE = 'see: earshot status';

/** Newer versions that the running server knows of: no request is made. */
export const updatesCheck: Check = {
  group: 'Server',
  what: 'updates',
  limitMs: 1000,
  cure: CURE,
  async look({ loaded, server }) {
    if (loaded.config.updates.url === undefined)
      return [note('updates', 'not checked: updates.url and updates.publicKey are not set')];
    if (server === 'absent' || 'problem' in server)
      return [note('updates', 'the server checks for them daily while it runs')];
    const known = server.ready.find(({ part }) => part === UPDATES);
    if (!known) return [note('updates', 'the server was started before they were configured')];
    return [known.ok ? good('updates', known.detail) : doubt('updates', known.detail, known.cure ?? CURE)];
  },
};
