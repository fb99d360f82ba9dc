import { z } from 'zod';

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;

/** As browsers send it: without a path, and without the port that goes without saying. `*`: any. */
function isOrigin(text: string): boolean {
  return text === '*' || (/^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text);
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null;
  } catch {
    return false;
  }
}

function perMinute(absent: number) {
  return z.number().int().min(1).max(60_000).default(absent);
}

/** A program and its arguments; empty: there is none. */
function program() {
  return z.array(z.string().min(1)).max(100).default([]);
}

/** No more than a scheme, a host, a port and a path. */
function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, pathname, href } = new URL(text);
  return href === origin + pathname;
}

/** `nas.local`, `nas.local:8123`, `10.0.0.5:8123`, `[fd00::5]:8123`. */
function hostAndPort() {
  return z
    .string()
    .regex(/^(\[[0-9a-f:.]+\]|[\p{L}\p{N}_-]+(\.[\p{L}\p{N}_-]+)*)(:\d{1,5})?$/iu)
    .refine(entry => URL.canParse(`http://${entry}`));
}

/**
 * The whole configuration. Every key has a description; `example.yaml` shows each of them. Set in the YAML file, or as
 * `EARSHOT_` + the path in upper snake case, `__` between levels (`EARSHOT_LOG__LEVEL`); the environment wins. A key
 * marked `secret` may also come from a file: `keyFile` in YAML, `EARSHOT_BRIDGE__KEY_FILE`.
 */
export const ConfigSchema = z.strictObject({
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on; 0.0.0.0 for every interface'),
  port: z.number().int().min(0).max(65535).default(8420).describe('TCP port; 0 takes any free one'),
  trustedProxies: z
    .array(
      z.union(
        [z.enum(['loopback', 'linklocal', 'uniquelocal']), z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
        'must be an address, a network such as 10.0.0.0/8, or loopback, linklocal or uniquelocal',
      ),
    )
    .default(['loopback'])
    .describe(
      'Reverse proxies whose X-Forwarded-For counts: addresses, networks, or loopback, linklocal, uniquelocal',
    ),
  publicUrl: z
    .url({ protocol: /^https?$/, error: 'must be an address such as https://earshot.example' })
    .transform(url => url.replace(/(?<!\/)\/+$/, ''))
    .optional()
    .describe(
      'Address under which users reach this server, for links in notifications; absent: they have none',
    ),
  dataDir: z
    .string()
    .min(1)
    .default('./data')
    .describe(
      'Directory of the database, keys and models; relative to the directory that Earshot is started in',
    ),
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
        .default('info')
        .describe('Lowest level to print'),
      format: z
        .enum(['pretty', 'json'])
        .default('pretty')
        .describe('pretty for people, or json: one object per line'),
      file: z
        .string()
        .min(1)
        .optional()
        .describe('File for the log of the server; absent: standard error, which has that of the bridge too'),
      maxBytes: z
        .number()
        .int()
        .min(64 * 1024)
        .max(GiB)
        .default(10 * MiB)
        .describe('Size from which the file is renamed to FILE.1, and a new one is started'),
      keep: z.number().int().min(1).max(100).default(5).describe('Number of renamed files to keep'),
    })
    .prefault({}),
  account: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .default('owner')
    .describe('Name of the account that the first start creates'),
  storage: z
    .string()
    .min(1)
    .default('sql')
    .describe('Storage backend: sql (SQLite or Postgres), or the name of a plugin of your own'),
  stt: z
    .union(
      [
        z.strictObject({
          live: z.union([z.string().min(1), z.array(z.string()).min(1)]),
          final: z.string().min(1),
        }),
        z.array(z.string()),
      ],
      { error: 'must be a list of recognisers, or { live: NAME, final: NAME }' },
    )
    .default(['sherpa-onnx', 'pocketsphinx'])
    .describe(
      'Speech recognisers in order of preference: the first one that works and has the language is used. Or two passes: { live: NAME, final: NAME }',
    ),
  identity: z
    .array(z.string())
    .min(1)
    .default(['local'])
    .describe('Identity providers: local (accounts of this server), or plugins that ask a provider of yours'),
  embedder: z
    .string()
    .min(1)
    .default('words')
    .describe('Embedding model for search by meaning: words (offline), openai-embedder, or a plugin'),
  vectors: z
    .string()
    .min(1)
    .default('sqlite-vectors')
    .describe(
      'Index for search by meaning: sqlite-vectors (a separate file), qdrant, or a plugin of your own',
    ),
  llm: z
    .array(z.string())
    .default([])
    .describe(
      'Language models in order of preference, llama, openai-llm or plugins of your own; without one, plain rules decide',
    ),
  understanding: z
    .array(z.string())
    .min(1)
    .default(['llm-understanding', 'plain-understanding'])
    .describe(
      'Plugins that make title, overview, tasks, events and memories of a conversation, in order of preference: llm-understanding (where llm names a model), plain-understanding (offline), or plugins of your own',
    ),
  speakers: z
    .array(z.string())
    .default([])
    .describe(
      'Plugins that separate voices, in order of preference: sherpa-speakers, or plugins of your own; none: no voice print is ever made',
    ),
  translator: z
    .array(z.string())
    .default([])
    .describe(
      'Plugins that translate speech for users who chose a language, in order of preference: libretranslate, deepl, llm-translator (where llm names a model), or plugins of your own; none: nothing is translated',
    ),
  sources: z
    .array(
      z.string().regex(/^[a-z][a-z0-9_]{0,49}$/, 'must be small letters, digits and _, such as kitchen_mic'),
    )
    .default([])
    .describe('Further values of `source` that conversations may have, such as kitchen_mic'),
  notify: z
    .array(z.string())
    .default(['ntfy', 'gotify', 'apprise', 'web-push', 'webhook', 'log'])
    .describe(
      'Notification channels that users may choose from; also email and mqtt, once they are set up, or plugins of your own',
    ),
  listen: z
    .strictObject({
      idleMs: z
        .number()
        .int()
        .min(100)
        .default(90_000)
        .describe('Time after which a socket without messages is closed'),
      heartbeatMs: z
        .number()
        .int()
        .min(50)
        .default(10_000)
        .describe(
          'Interval between WebSocket pings; a client that sends nothing after two of them is disconnected',
        ),
      maxQueuedBytes: z
        .number()
        .int()
        .min(64 * 1024)
        .default(4 * MiB)
        .describe(
          'Unread messages, and speech that waits for a recogniser, that one stream may hold in memory; beyond it the socket is paused, or the speech stays on disk',
        ),
      spool: z
        .strictObject({
          maxBytes: z
            .number()
            .int()
            .min(MiB)
            .default(4 * GiB)
            .describe('Audio on disk that waits for its text, of all users; beyond it, new audio is refused'),
          maxBytesPerUser: z
            .number()
            .int()
            .min(64 * 1024)
            .default(2 * GiB)
            .describe('The same of one user'),
          minFreeBytes: z
            .number()
            .int()
            .min(0)
            .default(256 * MiB)
            .describe('Free space on the disk below which no stream may start or continue'),
        })
        .prefault({}),
      maxUntranscribedMs: z
        .number()
        .int()
        .min(1000)
        .default(6 * 3600 * 1000)
        .describe('Longest time that a conversation is kept open for missing text'),
      maxUnsentBytes: z
        .number()
        .int()
        .min(64 * 1024)
        .default(5 * MiB)
        .describe(
          'Messages that a slow client may leave unread, in addition to the largest, before it is closed with 1008',
        ),
      maxUnsentTotalBytes: z
        .number()
        .int()
        .min(MiB)
        .default(64 * MiB)
        .describe('The same of all sockets; beyond it the slowest client is disconnected'),
      maxConnectionsPerUser: z.number().int().min(1).default(50).describe('Live sockets of one account'),
      maxConnections: z.number().int().min(1).default(1000).describe('Live sockets in total'),
    })
    .prefault({}),
  photos: z
    .strictObject({
      maxBytesPerUser: z
        .number()
        .int()
        .min(0)
        .default(5 * GiB)
        .describe('Photos that one account may keep on disk; beyond it new ones are refused'),
    })
    .prefault({}),
  clips: z
    .strictObject({
      maxBytesPerUser: z
        .number()
        .int()
        .min(MiB)
        .default(20 * GiB)
        .describe('Audio that one account may keep on disk; beyond it the oldest is deleted'),
    })
    .prefault({}),
  rateLimits: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe('false: nothing is limited, and responses do not state limits'),
      read: perMinute(600).describe('Requests that read'),
      write: perMinute(300).describe('Requests that create, change or delete'),
      batch: perMinute(60).describe('Requests that create several rows'),
      transcript: perMinute(120).describe('Requests that read conversations with their transcripts'),
      search: perMinute(120).describe('Requests that search'),
      notification: z
        .number()
        .int()
        .min(1)
        .max(10_000)
        .default(10)
        .describe('Notifications that one app may send to one user in an hour'),
      failed: perMinute(120).describe(
        'Requests from one address with a missing or wrong credential; valid ones from there always pass',
      ),
    })
    .prefault({}),
  delivery: z
    .strictObject({
      allowHosts: z
        .array(
          z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6(), hostAndPort()], {
            error:
              'must be a name of a host, an address, either with :port, or a network such as 192.168.1.0/24',
          }),
        )
        .default([])
        .describe(
          'Hosts that may be called by http, and at private addresses: names, addresses, either with :port, or networks such as 192.168.1.0/24',
        ),
      logDays: z.int().min(1).max(3650).default(30).describe('Days that deliveries stay in the log'),
    })
    .prefault({}),
  backup: z
    .strictObject({
      enabled: z.boolean().default(true).describe('Whether the server makes a daily backup'),
      directory: z
        .string()
        .min(1)
        .optional()
        .describe('Directory for backups, best on another disk; absent: backups/ in the data directory'),
      keepDaily: z.int().min(1).max(1000).default(7).describe('Days of which the newest backup stays'),
      keepWeekly: z.int().min(0).max(1000).default(4).describe('Weeks of which the newest backup stays'),
      keepMonthly: z.int().min(0).max(1000).default(12).describe('Months of which the newest backup stays'),
      recipients: z
        .array(z.string().regex(/^age1[02-9ac-hj-np-z]{20,4000}$/, 'must be a public key: age1…'))
        .max(20)
        .default([])
        .describe('age public keys for which backups are encrypted; earshot backup key makes one'),
      command: program().describe(
        'Program with arguments that copies each daily backup elsewhere: from its standard input, or from the file {file}; {name} stands for its name',
      ),
      listCommand: program().describe('Program that prints the names of the backups that `command` keeps'),
      removeCommand: program().describe('Program that deletes the backup {name} there'),
      readCommand: program().describe(
        'Program that prints the bytes of the backup {name}, with which each copy is checked',
      ),
      s3: z
        .strictObject({
          bucket: z
            .string()
            .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
            .optional()
            .describe('Bucket of S3-compatible storage for a copy of each daily backup; absent: none'),
          prefix: z
            .string()
            .max(500)
            .regex(/^([\w.-]+(\/[\w.-]+)*)?$/, 'must be a path such as backups/earshot')
            .default('earshot')
            .describe('Path in the bucket; one for each server'),
          endpoint: z
            .url({
              protocol: /^https?$/,
              error: 'must be an address such as https://s3.eu-central-1.amazonaws.com',
            })
            .refine(isPlainUrl, 'must hold no user name, password, question mark or #')
            .optional()
            .describe('Address of the storage, such as https://s3.eu-central-1.amazonaws.com'),
          region: z
            .string()
            .min(1)
            .max(100)
            .default('us-east-1')
            .describe('Region that requests are signed for'),
          pathStyle: z
            .boolean()
            .default(true)
            .describe('false: the bucket is part of the host name, not of the path'),
          accessKeyId: z.string().min(1).max(500).optional().describe('Name of the access key'),
          secretAccessKey: z
            .string()
            .min(1)
            .max(500)
            .optional()
            .meta({ secret: true })
            .describe('Its secret, or secretAccessKeyFile: the file with it'),
        })
        .prefault({}),
    })
    .prefault({}),
  updates: z
    .strictObject({
      url: z
        .url({
          protocol: /^https?$/,
          error: 'must be an address such as https://earshot.example/updates.json',
        })
        .optional()
        .describe(
          'Address of a signed list of versions, which the server then requests daily; absent: never',
        ),
      publicKey: z
        .string()
        .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be an ed25519 key of 32 bytes in Base64')
        .optional()
        .describe('Public key for the signature of that list; without it nothing is requested'),
    })
    .prefault({}),
  cors: z
    .strictObject({
      origins: z
        .array(
          z
            .string()
            .refine(isOrigin, "must be an origin such as https://app.example.org, without a path, or '*'"),
        )
        .default([])
        .describe("Origins of web pages whose scripts may use the interface; '*': all"),
    })
    .prefault({}),
  notifications: z
    .strictObject({
      timeZone: z
        .string()
        .refine(isTimeZone, 'must be an IANA time zone such as Europe/Berlin')
        .optional()
        .describe("Time zone of users who chose none, such as Europe/Berlin; absent: this machine's"),
      perAppPerHour: z
        .number()
        .int()
        .min(0)
        .max(1000)
        .default(20)
        .describe('Notifications of one app that are sent to one user in an hour; others stay in the inbox'),
      daySummaryAt: z
        .string()
        .regex(/^(([01]\d|2[0-3]):[0-5]\d)?$/, "must be a time of day such as '22:00', or ''")
        .default('22:00')
        .describe("Default time of the day summary, in the user's time zone; '': never"),
      minFreeBytes: z
        .number()
        .int()
        .min(0)
        .default(GiB)
        .describe('Free space on the disk below which operators are notified; 0: never'),
      keepDays: z.number().int().min(1).default(365).describe('Days that notifications stay in an inbox'),
    })
    .prefault({}),
  metrics: z
    .strictObject({
      token: z
        .string()
        .min(16, 'must have 16 characters or more')
        .optional()
        .meta({ secret: true })
        .describe('Bearer token for GET /metrics; absent: only this machine may read them'),
    })
    .prefault({}),
  bridge: z
    .strictObject({
      core: z
        .url({ protocol: /^wss?$/, error: 'must be a WebSocket address such as ws://192.168.1.5:8420' })
        .optional()
        .describe("Where core listens, ws://host:port; absent: this configuration's host and port"),
      key: z
        .string()
        .min(1)
        .optional()
        .meta({ secret: true })
        .describe('API key with scope listen; absent: requested from the core on this data directory'),
      name: z
        .string()
        .trim()
        .min(1)
        .max(100)
        .optional()
        .describe("Name of this bridge; absent: this machine's name"),
      spoolBytes: z
        .number()
        .int()
        .min(64 * 1024)
        .default(256 * MiB)
        .describe('Audio kept on disk while core is unreachable; beyond it the oldest is dropped'),
      drivers: z
        .array(z.string())
        .default([])
        .describe('Further drivers: paths, relative to the configuration file'),
      devices: z
        .array(z.string())
        .default([])
        .describe('Wearables to connect, by name or address; empty: all that a driver knows'),
      language: z
        .string()
        .regex(/^[a-z]{2,3}(-[a-z0-9]{1,8}){0,3}$|^multi$/i, 'must be a language code (en, pt-BR), or multi')
        .default('en')
        .describe('Language that is spoken, as a code (en, pt-BR); multi: the recogniser detects it'),
      radios: z
        .array(
          z
            .string()
            .regex(
              /^((noble|bluez)(:hci\d{1,2})?|lan|esphome)$/,
              'must be noble, bluez, noble:hci1, bluez:hci1, lan or esphome',
            ),
        )
        .min(1)
        .max(8)
        .default(['noble'])
        .describe(
          'Ways to reach wearables: noble (a Bluetooth adapter; noble:hci1 names it), bluez (the same through bluetoothd), lan (boards on the local network) and esphome (Bluetooth proxies)',
        ),
      health: z
        .strictObject({
          host: z.string().min(1).default('127.0.0.1').describe('Address on which health is served'),
          port: z
            .number()
            .int()
            .min(1)
            .max(65535)
            .optional()
            .describe('Port of GET /health and /metrics of the bridge; absent: none'),
        })
        .prefault({}),
      esphome: z
        .array(
          z.strictObject({
            host: z.string().min(1).max(253),
            port: z.number().int().min(1).max(65535).default(6053),
            key: z
              .string()
              .regex(/^[A-Za-z0-9+/]{43}=$/, "must be the board's key, 44 characters of base64")
              .optional()
              .meta({ secret: true }),
          }),
        )
        .max(16)
        .default([])
        .describe(
          'Bluetooth proxies of ESPHome, for the radio esphome: host of each, port (6053) and key (that of api: encryption: in its YAML)',
        ),
      lan: z
        .strictObject({
          host: z.string().min(1).default('0.0.0.0').describe('Address on which the radio lan listens'),
          port: z
            .number()
            .int()
            .min(0)
            .max(65535)
            .default(8425)
            .describe('Port of the radio lan, for TCP and UDP'),
        })
        .prefault({}),
      conversationTimeoutS: z
        .number()
        .int()
        .min(2)
        .max(14400)
        .default(120)
        .describe('Seconds of silence that end a conversation'),
    })
    .prefault({}),
  plugins: z
    .record(
      z
        .string()
        .regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, 'is not a plugin name: small letters, digits and dashes'),
      z.union([z.literal(false), z.record(z.string(), z.unknown())], {
        error: "must be false, or the plugin's options as key: value",
      }),
    )
    .default({})
    .describe(
      'Options by plugin name. `use: <path or package>` loads one that is not built in; `false` switches one off',
    ),
});

export type Config = z.infer<typeof ConfigSchema>;

/** The recognisers of live speech in order of preference, and the one whose text replaces theirs. */
export function recognisersOf({ stt }: Pick<Config, 'stt'>): { live: string[]; final: string | null } {
  if (Array.isArray(stt)) return { live: stt, final: null };
  const live = Array.isArray(stt.live) ? stt.live : [stt.live];
  return { live, final: stt.final };
}

/** All recognisers that the configuration names; the one of the second pass serves live speech where no other does. */
export function sttNames(config: Pick<Config, 'stt'>): string[] {
  const { live, final } = recognisersOf(config);
  return [...new Set([...live, ...(final === null ? [] : [final])])];
}
