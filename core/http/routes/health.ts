import { z } from 'zod';
import type { Health } from '../../contract/model.ts';
import type { OpenRoute } from '../route.ts';

const STATUS_CODES: Record<Health['status'], number> = { ok: 200, degraded: 200, failing: 503 };

/**
 * Health for orchestrators and load balancers. 503 means: send no requests, and restart the server if it lasts. A
 * degraded server returns 200, because it still serves, and a restart would not repair it.
 */
export function healthRoute(health: () => Promise<Health>): OpenRoute {
  const answer = (description: string, ...statuses: Health['status'][]) => ({
    description,
    type: 'application/json',
    schema: z.object({
      status: z.enum(statuses),
      parts: z
        .array(z.string())
        .describe(
          'Failing parts, such as speech recognition; without reasons, because no credential is needed',
        ),
    }),
  });
  return {
    id: 'getHealth',
    path: '/healthz',
    tag: 'Service',
    summary: 'Check the health of the server',
    answers: {
      200: answer(
        'ok: everything that is configured works. degraded: it serves, but parts do not work; audio that was accepted is kept on disk until it can be transcribed',
        'ok',
        'degraded',
      ),
      503: answer('It is starting or stopping, or its database does not answer', 'failing'),
    },
    async serve(context) {
      const found = await health();
      context.status = STATUS_CODES[found.status];
      context.body = found;
    },
  };
}
