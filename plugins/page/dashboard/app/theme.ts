import { signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
const KEY = 'earshot.theme';

export const theme = signal<Theme>(THEMES.find(each => each === localStorage.getItem(KEY)) ?? 'system');

export function applyTheme(chosen: Theme = theme.value): void {
  theme.value = chosen;
  localStorage.setItem(KEY, chosen);
  document.documentElement.dataset.theme = chosen;
}
