import { computed, signal } from '@preact/signals';
import { de } from './texts-de.ts';
import { en, type Texts } from './texts-en.ts';

export type Language = 'en' | 'de';
const LANGUAGES: Readonly<Record<Language, Texts>> = { en, de };
const KEY = 'earshot.language';

function initial(): Language {
  const kept = localStorage.getItem(KEY) ?? navigator.language.slice(0, 2);
  return kept === 'de' ? 'de' : 'en';
}

export const language = signal<Language>(initial());

export function setLanguage(chosen: Language): void {
  localStorage.setItem(KEY, chosen);
  language.value = chosen;
  document.documentElement.lang = chosen;
}

/** The texts of the chosen language: `t.value.save`. */
export const t = computed(() => LANGUAGES[language.value]);
