/** Where a conversation can come from: the wire's `source` values. */
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
  'plaud',
  'frame',
  'friend_com',
  'apple_watch',
  'openglass',
  'screenpipe',
  'limitless',
  'rayban_meta',
]);

export function isSource(source: string): boolean {
  return SOURCES.has(source);
}

/** The source as it is stored: any that is not in the table, or absent, is `unknown`. */
export function knownSource(source: string | undefined): string {
  return source !== undefined && isSource(source) ? source : 'unknown';
}
