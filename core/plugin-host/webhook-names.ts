import type { WebhookType } from '../contract/plugin.ts';
import { AppError } from '../runtime/errors.ts';

type Named = Pick<WebhookType, 'type' | 'aliases'>;

interface NamedWebhook {
  /** Name of its plugin. */
  name: string;
  value: Named;
}

/**
 * Refuses a type of webhook that has a name of another one: addresses of users hold only that name.
 * @throws {AppError} `config_error`, as switching one of the two off helps
 */
export function refuseTakenWebhook(plugin: string, webhook: Named, others: readonly NamedWebhook[]): void {
  for (const taken of namesOf(webhook)) {
    const other = others.find(({ value }) => namesOf(value).includes(taken));
    if (!other) continue;
    throw new AppError(
      'config_error',
      `${plugin} gives the webhook ${taken}, which ${other.name} gives already: rename the type or alias ` +
        `in ${plugin}, or switch the other off with plugins.${other.name}: false`,
    );
  }
}

function namesOf({ type, aliases = [] }: Named): string[] {
  return [type, ...aliases];
}
