/** Exported rows of an account, and the names of their files in the archive. */

/** Version of the archive's format; an archive of another one is refused. */
export const FORMAT = 1;
export const MANIFEST = 'earshot.json';
export const dataFile = (table: string) => `data/${table}.jsonl`;

/** Tables that are not exported, and why. Every other table with rows of users is. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  keys: 'credentials are made anew',
  sessions: 'are sign-ins to this server',
  app_keys: 'credentials are made anew',
  grants: 'belong to keys',
  calendar_links: 'credentials are made anew',
  apps: 'are there for others as well, and hold signing secrets',
  installations: 'name apps of this server',
  hooks: 'hold signing secrets',
  channel_addresses: 'hold credentials of services',
  deliveries: 'tell what this server sent',
  delivery_attempts: 'tell what this server sent',
  rate_limits: 'are of this server alone',
  claims: 'tell which requests this server has seen',
  devices: 'are reported anew by their bridges',
  embeddings: 'are computed anew',
  memory_changes: 'are computed anew',
  foreign_imports: 'list what was imported here, so that it can be undone here',
  foreign_items: 'list what was imported here, so that it can be undone here',
  voice_assignments: 'can be undone on this server alone',
  voice_changes: 'can be undone on this server alone',
};

/** Tables in which the importing account may already have rows. */
export const REPLACEABLE: ReadonlySet<string> = new Set([
  'notification_settings',
  'summary_settings',
  'speech_settings',
  'listening_settings',
  'retention_settings',
  'accesses',
]);
