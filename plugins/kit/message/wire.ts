import type { NotificationMessage } from '../../../core/contract/plugin.ts';

/** A notification in the form for programs. */
export function wireOf(message: NotificationMessage) {
  const { id, title, text, at, app, event, rule, urgency, muteUrl, data } = message;
  return {
    id,
    title,
    text,
    created_at: new Date(at).toISOString(),
    app,
    event,
    rule,
    urgency,
    mute_url: muteUrl,
    data,
  };
}
