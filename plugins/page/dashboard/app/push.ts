/** Web push notifications of this server on this device. */
import type { Address, Channel } from './data.ts';
import { api } from './session.ts';

export const CHANNEL = 'web-push';

/** Browsers offer push only over HTTPS and on localhost. */
export const mayPush = (): boolean => window.isSecureContext && 'PushManager' in window;

export async function isPushed(): Promise<boolean> {
  if (!mayPush()) return false;
  const worker = await navigator.serviceWorker.getRegistration();
  return Boolean(await worker?.pushManager.getSubscription());
}

/** Resolves to whether the user allowed it. */
export async function startPush(channels: readonly Channel[], label: string): Promise<boolean> {
  const key = channels.find(({ channel }) => channel === CHANNEL)?.public_info.applicationServerKey;
  if (key === undefined || (await Notification.requestPermission()) !== 'granted') return false;
  const worker = await navigator.serviceWorker.ready;
  const subscription = await worker.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: key,
  });
  const address = subscription.toJSON();
  await api<Address>('POST', '/v1/notifications/addresses', { channel: CHANNEL, label, address });
  return true;
}

/** Unsubscribes in the browser. The server removes the address when its next push fails. */
export async function stopPush(): Promise<void> {
  const worker = await navigator.serviceWorker.getRegistration();
  await (await worker?.pushManager.getSubscription())?.unsubscribe();
}
