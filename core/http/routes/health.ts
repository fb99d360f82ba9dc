import { z } from 'zod';
import type { OpenRoute } from '../route.ts';

/** For supervisors and load balancers. */
export function healthRoute(isReady: () => boolean): OpenRoute {
  const answer = (status: 'ok' | 'starting', description: string) => ({
    description,
    type: 'application/json',
    schema: z.object({ status: z.literal(status) }),
  });
  return {
    id: 'getHealth',
    path: '/healthz',
    tag: 'Service',
    summary: 'Tell whether everything is up',
    answers: { 200: answer('ok', 'It is'), 503: answer('starting', 'Not yet, or no longer') },
    serve(context) {
      const ready = isReady();
      context.status = ready ? 200 : 503;
      context.body = { status: ready ? 'ok' : 'starting' };
    },
  };
}
