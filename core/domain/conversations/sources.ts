/** Where a conversation can come from: the wire's `source` values. The configuration adds others. */
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

/** The source as it is stored: any that is not among these, or absent, is `unknown`. */
export function knownSource(source: string | undefined, sources: ReadonlySet<string>): string {
  return source !== undefined && sources.has(source) ? source : 'unknown';
}
