/** A wearable that a bridge connects to. */
export interface Device {
  userId: string;
  /** As `client_device_id` names it, and conversations by `deviceId`. */
  id: string;
  /** Name that its owner chose; null: none. */
  name: string | null;
  advertisedName: string;
  source: string;
  /** Driver that the bridge uses; empty: unknown. */
  driver: string;
  model: string | null;
  firmware: string | null;
  state: DeviceState;
  /** Reason for its state, if it needs an explanation. */
  reason: string | null;
  codec: string | null;
  /** Percent. */
  battery: number | null;
  /** Whether it was reported and the battery not charged since. */
  lowBattery: boolean;
  /** dBm. */
  rssi: number | null;
  storageFreeBytes: number | null;
  /** Frames since its bridge started: received, and known to be missing. */
  frames: number;
  lost: number;
  /** Assumptions that its driver makes, in words. */
  notes: string[];
  bridgeId: string;
  bridgeName: string;
  bridgeVersion: string | null;
  /** Null: it is not connected. */
  connectedAt: number | null;
  /** When it was last known to be connected. */
  lastSeenAt: number;
  /** When its bridge last reported it. */
  reportedAt: number;
  /** Latest reported press of its button; null: none. */
  buttonAt: number | null;
  createdAt: number;
}

/** `quiet`: connected, and it sends nothing. `muted`: its microphone is switched off. */
export type DeviceState = 'streaming' | 'quiet' | 'muted' | 'disconnected';

export type DeviceButton = 'single' | 'double' | 'triple' | 'long' | 'press' | 'release';

/** `changed`: any shown field except signal and counts. `removed`: its owner deleted it. */
export interface DeviceHappening {
  kind: 'connected' | 'disconnected' | 'battery_low' | 'button' | 'changed' | 'removed';
  at: number;
  button: DeviceButton | null;
}
