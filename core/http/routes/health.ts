import type { Middleware } from 'koa';

/** For supervisors and load balancers: no credential, no parameters. */
export function healthRoute(isReady: () => boolean): Middleware {
  return context => {
    const ready = isReady();
    context.status = ready ? 200 : 503;
    context.body = { status: ready ? 'ok' : 'starting' };
  };
}
