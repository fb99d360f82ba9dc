import type { Place } from './data.ts';
import { language, t } from './texts.ts';

const DAY_MS = 24 * 3600_000;

/**
 * The device's own region if it speaks the chosen language: 24-hour clock in London, 12-hour clock in New
 * York.
 */
function locale(): string {
  return navigator.languages.find(each => each.startsWith(language.value)) ?? language.value;
}

function formatter(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(locale(), options);
}

export function time(iso: string): string {
  return formatter({ hour: '2-digit', minute: '2-digit' }).format(new Date(iso));
}

/** `6 am` or `06`, as is usual where the device is. */
export function hourOfDay(hour: number): string {
  return formatter({ hour: 'numeric' }).format(new Date(2024, 0, 1, hour));
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

/** The local date as date inputs expect it: `2026-11-05`. */
export function localDay(iso: string): string {
  const date = new Date(iso);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** `November 2026`. */
export function monthName(date: Date): string {
  return formatter({ month: 'long', year: 'numeric' }).format(date);
}

/** Short names of the weekdays, from Monday. */
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

/** `1:02:03`, or with milliseconds. */
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

/** Address of a line of a conversation, which is opened and highlighted; null: of the conversation. */
export function lineAddress(conversationId: string, segmentId: string | null | undefined): string {
  return `/conversations/${conversationId}${segmentId ? `?segment=${segmentId}` : ''}`;
}

/** Name of a category of conversations or memories; a category without a translation stays as it is. */
export function categoryName(category: string): string {
  return t.value.categories[category] ?? t.value.memoryCategories[category] ?? category;
}

interface Point {
  latitude: number;
  longitude: number;
}

/** Digits of a coordinate for people: precise to some hundred metres. */
const DEGREE_DIGITS = 3;

/** `52.520, 13.405`. */
function degrees({ latitude, longitude }: Point): string {
  return `${latitude.toFixed(DEGREE_DIGITS)}, ${longitude.toFixed(DEGREE_DIGITS)}`;
}

/** Name of a place; without one its address, or its position. */
export function placeName(place: Point & { name?: string | null; address: string | null }): string {
  return place.name ?? place.address ?? degrees(place);
}

const METRES_PER_DEGREE = 111_195;

/** The place with a name to which a point belongs. */
export function namedPlace(places: readonly Place[], { latitude, longitude }: Point): Place | undefined {
  return places.find(place => {
    const north = latitude - place.latitude;
    const east = (longitude - place.longitude) * Math.cos((place.latitude * Math.PI) / 180);
    return place.name !== null && Math.hypot(north, east) * METRES_PER_DEGREE <= place.radius_m;
  });
}

/** A point as the server expects it: `52.520008,13.404954`. */
export function pointOf({ latitude, longitude }: Point): string {
  return `${latitude},${longitude}`;
}

/** Kind of device or program that recorded a conversation. */
export function sourceName(source: string): string {
  return t.value.sourceNames[source] ?? source;
}

/** `1.2 MB`. */
export function size(bytes: number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return new Intl.NumberFormat(language.value, {
    style: 'unit',
    unit: units[power] ?? 'byte',
    unitDisplay: power === 0 ? 'long' : 'short',
    maximumSignificantDigits: 3,
  }).format(bytes / 1000 ** power);
}
