import { language } from './texts.ts';

const DAY_MS = 24 * 3600_000;

/** The device's own region of the chosen language, as far as it has one: 24 hours in London, 12 in New York. */
function locale(): string {
  return navigator.languages.find(each => each.startsWith(language.value)) ?? language.value;
}

function formatter(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(locale(), options);
}

export function time(iso: string): string {
  return formatter({ hour: '2-digit', minute: '2-digit' }).format(new Date(iso));
}

export function dateTime(iso: string): string {
  return formatter({ dateStyle: 'medium', timeStyle: 'short' }).format(new Date(iso));
}

/** `Today`, `Yesterday`, then the date. */
export function day(iso: string): string {
  const date = new Date(iso);
  const start = (of: Date) => new Date(of.getFullYear(), of.getMonth(), of.getDate()).getTime();
  const days = Math.round((start(new Date()) - start(date)) / DAY_MS);
  if (days === 0 || days === 1) {
    const words = new Intl.RelativeTimeFormat(language.value, { numeric: 'auto' }).format(-days, 'day');
    return words.charAt(0).toLocaleUpperCase(language.value) + words.slice(1);
  }
  const isThisYear = date.getFullYear() === new Date().getFullYear();
  return formatter({
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    ...(isThisYear ? {} : { year: 'numeric' }),
  }).format(date);
}

export function shortDate(iso: string): string {
  return formatter({ day: 'numeric', month: 'short' }).format(new Date(iso));
}

/** `November 2026`. */
export function monthName(date: Date): string {
  return formatter({ month: 'long', year: 'numeric' }).format(date);
}

/** From Monday on, short. */
export function weekdayNames(): string[] {
  const monday = Date.UTC(2024, 0, 1);
  const names = formatter({ weekday: 'short', timeZone: 'UTC' });
  return Array.from({ length: 7 }, (_, index) => names.format(monday + index * DAY_MS));
}

/** `12 min`. */
export function minutes(seconds: number): string {
  const count = Math.max(1, Math.round(seconds / 60));
  return new Intl.NumberFormat(language.value, {
    style: 'unit',
    unit: 'minute',
    unitDisplay: 'short',
  }).format(count);
}

/** `1:02:03`, or with three digits of a second. */
export function position(seconds: number, fraction = ''): string {
  const whole = Math.floor(seconds);
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  if (fraction !== '') {
    const ms = String(Math.round((seconds - whole) * 1000)).padStart(3, '0');
    return `${two(h)}:${two(m)}:${two(s)}${fraction}${ms}`;
  }
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}
