/** Sources of conversations: the wire's `source` values. The configuration adds others. */
export const SOURCES: ReadonlySet<string> = new Set([
  'external_integration',
  'phone',
  'phone_call',
  'desktop',
  'workflow',
  'sdcard',
  'onboarding',
  'unknown',
  // wearables and apps in the field
  'friend',
  'omi',
  'fieldy',
  'bee',
  'owl',
  'plaud',
  'frame',
  'friend_com',
  'apple_watch',
  'openglass',
  'screenpipe',
  'limitless',
  'rayban_meta',
]);

/** Returns the source to store: one that is absent or not in the list is `unknown`. */
export function knownSource(source: string | undefined, sources: ReadonlySet<string>): string {
  return source !== undefined && sources.has(source) ? source : 'unknown';
}
