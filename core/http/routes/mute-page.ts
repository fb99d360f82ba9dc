import { createHash } from 'node:crypto';
import type { Middleware, ParameterizedContext } from 'koa';
import { z } from 'zod';
import type { Notifications } from '../../domain/notifications/notifications.ts';
import { toFailure } from '../failure.ts';
import type { OpenRoute } from '../route.ts';

const PATH = '/v1/notifications/mute';

const STYLE = `body{font:18px/1.5 system-ui,sans-serif;max-width:30rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}
button{font:inherit;padding:.5em 1.2em}`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The page behind the link in a message, which asks for confirmation. Opening it changes nothing, because mail
 * scanners open every link.
 */
export function mutePageRoute(notifications: Pick<Notifications, 'muteLink'>): OpenRoute {
  return {
    id: 'getMutePage',
    path: PATH,
    tag: 'Notifications',
    summary: 'Get a page that asks whether to mute the notifications with this link (`?token=`)',
    answers: {
      200: { description: 'The page', type: 'text/html', schema: z.string() },
      404: {
        description: 'A page that says why there is nothing to mute',
        type: 'text/html',
        schema: z.string(),
      },
    },
    async serve(context) {
      const token = tokenOf(context);
      await show(context, async () => {
        const { what } = await notifications.muteLink(token);
        return `<p>Send no more notifications of ${escaped(what)}? They stay in your inbox.</p>
<form method="post" action="?token=${encodeURIComponent(token)}"><button>Send no more</button></form>`;
      });
    },
  };
}

/** The page's button, which is also what mail programs send (RFC 8058): a POST with the token in its query. */
export function muteByLink(notifications: Pick<Notifications, 'muteLink'>): Middleware {
  return async (context, next) => {
    if (context.method !== 'POST' || context.path !== PATH || tokenOf(context) === '') return next();
    await show(context, async () => {
      const { what, mute } = await notifications.muteLink(tokenOf(context));
      await mute();
      return `<p>No more notifications of ${escaped(what)} are sent. They stay in your inbox.</p>`;
    });
  };
}

function tokenOf({ querystring }: Pick<ParameterizedContext, 'querystring'>): string {
  return new URLSearchParams(querystring).get('token') ?? '';
}

async function show(
  context: Pick<ParameterizedContext, 'status' | 'set' | 'type' | 'body'>,
  content: () => Promise<string>,
): Promise<void> {
  const { status, body } = await content().then(
    body => ({ status: 200, body }),
    error => {
      const failure = toFailure(error);
      if (failure.status === 500) throw error;
      return { status: failure.status, body: `<p>${escaped(String(failure.body.detail))}</p>` };
    },
  );
  context.status = status;
  context.set('Content-Security-Policy', POLICY);
  context.type = 'text/html';
  context.body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Notifications</title>
<meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><style>${STYLE}</style></head>
<body>${body}</body></html>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, character => ENTITIES[character] ?? character);
}
