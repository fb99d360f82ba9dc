import type { Notifications } from '../domain/notifications/notifications.ts';
import type { NotifyOwner } from './targets.ts';

const KINDS = {
  hook: { what: 'webhook', one: 'A webhook' },
  channel: { what: 'address for notifications', one: 'An address for notifications' },
} as const;

/** Tells owners, through the channels that still work, what was switched off. */
export function createNotifyOwner({
  notifications,
}: {
  notifications: Pick<Notifications, 'tellIn'>;
}): NotifyOwner {
  return async (tx, { kind, id, userId, appId, name }, reason) => {
    const { what, one } = KINDS[kind];
    await notifications.tellIn(tx, userId, {
      appId: null,
      event: 'hook_off',
      rule: `${one} was switched off by the server`,
      title: `Your ${what} “${name}” was switched off`,
      text: `${reason}. When it works again, switch it on.`,
      data: { target_kind: kind, target_id: id, app_id: appId },
    });
  };
}
