import type {
  NotificationChannel,
  NotificationMessage,
  Plugin,
  PluginContext,
} from '../../../core/contract/plugin.ts';
import { bodyOf, linesOf, muteLines } from '../../kit/message/text.ts';

/** Must fit into the 10 seconds of `setup`. */
const GREETING_MS = 8000;
/** Longest silence on an open connection. */
const IDLE_MS = 15_000;

const PRIORITY = { low: 'low', normal: 'normal', high: 'high' } as const;

interface Options {
  host: string;
  port: number;
  encryption: 'starttls' | 'tls' | 'none';
  username?: string | undefined;
  password?: string | undefined;
  from: string;
}

interface Address {
  email: string;
}

export default {
  name: 'email',
  api: 1,
  title: 'Email, by an SMTP server of yours',
  options: z =>
    z.strictObject({
      host: z.string().min(1).describe('SMTP server for outgoing mail'),
      port: z.coerce
        .number()
        .int()
        .min(1)
        .max(65535)
        .default(587)
        .describe('Its port: 587 for starttls, 465 for tls'),
      encryption: z
        .enum(['starttls', 'tls', 'none'])
        .default('starttls')
        .describe('Encryption; tls: from the first byte; none: only for this machine, or your own network'),
      username: z.string().min(1).optional().describe('Account there, if the server requires one'),
      password: z.string().min(1).meta({ secret: true }).optional().describe('Password of that account'),
      from: z.email().describe('Sender address of mail'),
    }),

  async setup(context) {
    const { options, onStop } = context;
    const { createTransport } = await import('nodemailer');
    const { host, port, encryption, username, password } = options;
    const settings = {
      host,
      port,
      secure: encryption === 'tls',
      requireTLS: encryption === 'starttls',
      ignoreTLS: encryption === 'none',
      ...(username === undefined ? {} : { auth: { user: username, pass: password ?? '' } }),
      disableFileAccess: true,
      disableUrlAccess: true,
      dnsTimeout: GREETING_MS,
      connectionTimeout: GREETING_MS,
      greetingTimeout: GREETING_MS,
    };
    const transport = createTransport({ ...settings, socketTimeout: IDLE_MS });
    onStop(() => transport.close());
    const toError = errorsOf(`email: ${host}:${port}`, context);
    await createTransport({ ...settings, socketTimeout: GREETING_MS / 2 })
      .verify()
      .catch((thrown: unknown) => {
        throw toError(thrown);
      });

    const notify: NotificationChannel<Address> = {
      address: zod => zod.strictObject({ email: zod.email().max(254).describe('Where the mail goes') }),
      async send({ email }, message, signal) {
        signal.throwIfAborted();
        const mail = transport.sendMail({
          from: { name: 'Earshot', address: options.from },
          to: { name: '', address: email },
          subject: linesOf(message).title,
          text: bodyOf(message, { below: muteLines(message) }),
          // The same for every attempt, so that mail programs can recognise a duplicate.
          messageId: `<${message.id.replaceAll(/[^\w-]/g, '')}@${options.from.split('@')[1]}>`,
          date: new Date(message.at),
          priority: PRIORITY[message.urgency],
          headers: { 'Auto-Submitted': 'auto-generated', ...oneClick(message) },
          ...(message.muteUrl === null ? {} : { list: { unsubscribe: message.muteUrl } }),
          signal: AbortSignal.any([signal, context.signal]),
        });
        await mail.catch((thrown: unknown) => {
          signal.throwIfAborted();
          throw toError(thrown);
        });
      },
    };
    return { notify };
  },
} satisfies Plugin<Options>;

/** Headers that give mail programs an unsubscribe button (RFC 8058). */
function oneClick({ muteUrl }: NotificationMessage): Record<string, string> {
  return muteUrl?.startsWith('https:') ? { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } : {};
}

/** Error as nodemailer reports it. */
interface Failure {
  code?: string;
  /** Node's error code of the connection. */
  originalCode?: string;
  /** SMTP reply code, such as 550. */
  responseCode?: number;
  /** The server's reply, which may begin with an enhanced status code (RFC 3463): `550 5.1.1 No such user`. */
  response?: string;
}

/** Error codes that mean an untrusted certificate. */
const UNTRUSTED = /CERT|ALTNAME|UNABLE_TO_/;
/** Enhanced status codes of a mailbox that does not exist, has moved, is disabled, or whose host accepts no mail. */
const GONE = /^5\d\d[ -]5\.(1\.(1|2|6|10)|2\.1)\b/;

function errorsOf(server: string, { error }: Pick<PluginContext<never>, 'error'>) {
  return (thrown: unknown) => {
    const { code, originalCode = '', responseCode = 0, response = '' } = Object(thrown) as Failure;
    // The reply may quote our message, and the message of a cause is logged: so the reply is left out.
    const say = (...[kind, words]: Parameters<typeof error>) =>
      error(kind, `${server} ${words}${responseCode === 0 ? '' : ` (${responseCode})`}`);
    if (code === 'EAUTH' && responseCode >= 500)
      return say(
        'config_error',
        'refuses the account; correct plugins.email.username or plugins.email.password',
      );
    if (code === 'ENOAUTH')
      return say('config_error', 'wants no such account; correct plugins.email.username');
    if (code === 'ETLS')
      return say('config_error', 'offers no encryption that holds; correct plugins.email.encryption');
    if (UNTRUSTED.test(originalCode))
      return say(
        'config_error',
        'has a certificate that is not trusted here; correct plugins.email.host, or set NODE_EXTRA_CA_CERTS',
      );
    if (code === 'ETIMEDOUT')
      return say('upstream_error', 'did not answer in time; correct plugins.email.host or .port');
    if (GONE.test(response)) return say('gone', 'has no such mailbox');
    if (responseCode >= 500) return say('forbidden', 'refuses the mail');
    if (responseCode >= 400) return say('upstream_error', 'takes no mail now');
    return say('upstream_error', 'cannot be reached, or broke off; correct plugins.email.host');
  };
}
