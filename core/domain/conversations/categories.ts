/** Categories of conversations, as in the wire's `category`, each with its emoji. */
export const CATEGORY_EMOJI = {
  personal: '🙂',
  education: '🎓',
  health: '🩺',
  finance: '💰',
  legal: '⚖️',
  philosophy: '🤔',
  spiritual: '🙏',
  science: '🔬',
  entrepreneurship: '🚀',
  parenting: '🍼',
  romantic: '❤️',
  travel: '🧳',
  inspiration: '✨',
  technology: '💻',
  business: '💼',
  social: '👥',
  work: '🗂️',
  sports: '🏅',
  politics: '🏛️',
  literature: '📚',
  history: '📜',
  architecture: '🏗️',
  music: '🎵',
  weather: '🌦️',
  news: '📰',
  entertainment: '🎬',
  psychology: '🧩',
  real: '🏠',
  design: '🎨',
  family: '👪',
  economics: '📈',
  environment: '🌱',
  other: '🧠',
} as const satisfies Record<string, string>;

export type Category = keyof typeof CATEGORY_EMOJI;

export function isCategory(text: string): text is Category {
  return Object.hasOwn(CATEGORY_EMOJI, text);
}
