import { type AllowList, createAllowList } from '../../delivery/addresses.ts';
import { resolveBySystem } from '../../delivery/names.ts';
import type { Check } from './examination.ts';
import { codeOf, type Finding, findingsOf } from './finding.ts';

const { good, note, doubt } = findingsOf('Delivery');
const CURE = 'list the intended hosts in delivery.allowHosts, one by one';

/** Metadata address of most clouds: requests to it can obtain the keys of the machine. */
const METADATA = '169.254.169.254';
const LOOPBACK = ['127.0.0.1', '::1'];

export const deliveryCheck: Check = {
  group: 'Delivery',
  what: 'allowed hosts',
  limitMs: 15_000,
  cure: 'check that this machine resolves names: getent hosts NAME',
  async look({ loaded }) {
    const { allowHosts } = loaded.config.delivery;
    if (allowHosts.length === 0)
      return [good('allowed hosts', 'none: webhooks and notifications go to public addresses, by https')];
    const allowed = createAllowList(allowHosts);
    const missing = (await Promise.all(allowed.names.map(findMissing))).flat();
    return [good('allowed hosts', allowHosts.join(', ')), ...judgeReach(allowed), ...missing];
  },
};

function judgeReach(allowed: AllowList): Finding[] {
  if (allowed.hasAddress(METADATA, 80))
    return [
      doubt(
        'reach',
        `${METADATA} is allowed, where cloud providers serve the credentials of a machine`,
        CURE,
      ),
    ];
  const isOwn = allowed.names.includes('localhost') || LOOPBACK.some(own => allowed.hasAddress(own, 80));
  return isOwn ? [note('reach', 'programs on this machine can be reached by what users set up')] : [];
}

async function findMissing(name: string): Promise<Finding[]> {
  try {
    await resolveBySystem(name);
    return [];
  } catch (error) {
    return [
      doubt(name, `it cannot be resolved here (${codeOf(error)})`, 'correct it in delivery.allowHosts'),
    ];
  }
}
