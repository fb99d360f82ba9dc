import { apiPage } from './api.ts';
import { commandLinePage } from './command-line.ts';
import { configurationPage } from './configuration.ts';

/** Renders the generated pages, by their paths in the checkout. */
export async function renderPages(): Promise<Record<string, string>> {
  return {
    'docs/configuration.md': configurationPage(),
    'docs/cli.md': commandLinePage(),
    'docs/api.md': await apiPage(),
  };
}
