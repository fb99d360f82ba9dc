/** Webhook of a user, or of an app for one of its types. */
export interface Hook {
  id: string;
  /** User who created it, sees its state, and is notified when it is switched off. */
  userId: string;
  /** Null: the user's own. */
  appId: string | null;
  /** Distinguishes webhooks of one type: '' is the default, and the only one of an app. */
  label: string;
  /** By its wire name. */
  type: string;
  url: string;
  /** Interval between two pieces of audio; null: it gets no audio. */
  seconds: number | null;
  enabled: boolean;
  /** Reason why the server switched it off; null: it did not. */
  offReason: string | null;
  /** Since when all deliveries have failed; null: the last one succeeded. */
  failingSince: number | null;
  /** `whsec_` + base64; what it signs with. */
  secret: string;
  /** Signs as well until `oldSecretUntil`. */
  oldSecret: string | null;
  oldSecretUntil: number | null;
  createdAt: number;
  updatedAt: number;
}

/** `hook`: a webhook. `channel`: a notification to one address. */
export type TargetKind = 'hook' | 'channel';

/** Message to one target. Every attempt sends the same. */
export interface Delivery {
  /** Also its `webhook-id`. */
  id: string;
  /** User whom the delivery is about. */
  userId: string;
  targetKind: TargetKind;
  /** Id of the webhook or address, which may be deleted by now. */
  targetId: string;
  /** Id of the receiving app, or null. */
  appId: string | null;
  /** Type of the webhook, or event of the notification. */
  type: string;
  /** Subject: the id of a conversation or a notification, or a day. */
  subject: string;
  /** `pending` is retried at `nextAt`; `dropped`: a live one that was too old, or one too many. */
  state: 'pending' | 'delivered' | 'failed' | 'dropped';
  /** Appended to the address of a hook; '' for none. */
  query: string;
  contentType: string;
  /** Null: it is not kept (audio). */
  body: string | null;
  attempts: number;
  /** Null unless it is pending. */
  nextAt: number | null;
  createdAt: number;
  endedAt: number | null;
  /** Delivery that it repeats on request. */
  replayOf: string | null;
}

/** Delivery in lists of the log. */
export type LoggedDelivery = Omit<Delivery, 'body'>;

/** Attempt of a delivery. */
export interface DeliveryAttempt {
  deliveryId: string;
  userId: string;
  /** From 1. */
  number: number;
  at: number;
  tookMs: number;
  /** Status of the HTTP response; null: there was none. */
  status: number | null;
  /** Error message; null: no error. */
  error: string | null;
  /** The first KiB of the answer. */
  answer: string | null;
}
