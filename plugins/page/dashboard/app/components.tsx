import { signal } from '@preact/signals';
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Segment } from './data.ts';
import { type Kind, on } from './feed.ts';
import { Failure, messageOf, Skeleton } from './notices.tsx';
import { isSlow } from './session.ts';
import { t } from './texts.ts';

const PATHS = {
  now: 'M4 10v4M8 6v12M12 3v18M16 7v10M20 10v4',
  conversations: 'M4 5h16v11H9l-5 4z',
  tasks: 'M4 6l2 2 3-4M4 17l2 2 3-4M13 6h7M13 17h7',
  memories: 'M6 3h12v18l-6-4-6 4z',
  ask: 'M9 9a3 3 0 1 1 4 3c-1 .6-1 1-1 2M12 18h.01M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  connections: 'M9 15l6-6M8 12l-2 2a4 4 0 0 0 6 6l2-2M16 12l2-2a4 4 0 0 0-6-6l-2 2',
  notifications: 'M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 21h4',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4',
  system: 'M3 12h4l3-8 4 16 3-8h4',
  star: 'M12 3l2.7 5.8 6.3.8-4.6 4.3 1.2 6.2L12 17l-5.6 3.1 1.2-6.2L3 9.6l6.3-.8z',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  edit: 'M4 20l1-4L16 5l3 3L8 19z',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  back: 'M15 5l-7 7 7 7',
  forward: 'M9 5l7 7-7 7',
  people: 'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8M2 21c0-4 3-7 7-7s7 3 7 7M17 4a4 4 0 0 1 0 7M19 14c2 1 3 4 3 7',
  places: 'M12 21c5-6 7-9 7-12a7 7 0 1 0-14 0c0 3 2 6 7 12M12 11.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5',
  goals: 'M6 21V4M6 4h12l-3 4 3 4H6',
  statistics: 'M4 20V10M10 20V4M16 20v-7M22 20H2',
  split: 'M12 3v6M12 21v-6M4 12h16M8 8l4-4 4 4M8 16l4 4 4-4',
  microphone: 'M12 15a3 3 0 0 0 3-3V6a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3M6 11a6 6 0 0 0 12 0M12 17v4',
  history: 'M4 12a8 8 0 1 1 3 6M4 12l-2-3M4 12l3-2M12 8v4l3 2',
  check: 'M4 12l5 5L20 6',
  send: 'M4 12l16-8-6 16-3-7z',
  play: 'M8 5l11 7-11 7z',
  close: 'M6 6l12 12M18 6L6 18',
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name, filled = false }: { name: IconName; filled?: boolean }) {
  return (
    <svg
      class={`icon ${filled ? 'filled' : name === 'more' ? 'dots' : ''}`}
      viewBox="0 0 24 24"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Page({
  title,
  back,
  actions,
  children,
  wide = false,
}: {
  title: string;
  /** The list that the page belongs to: an installed page has no back button of a browser. */
  back?: { path: string; name: string };
  actions?: ComponentChildren;
  children: ComponentChildren;
  wide?: boolean;
}) {
  useEffect(() => {
    document.title = `${title} · Earshot`;
  }, [title]);
  return (
    <div class={wide ? 'page wide' : 'page'}>
      {back && (
        <a class="back" href={back.path}>
          <Icon name="back" />
          {back.name}
        </a>
      )}
      <header class="page-head">
        <h1>{title}</h1>
        {actions}
      </header>
      {children}
    </div>
  );
}

export function Empty({ icon, title, text }: { icon: IconName; title: string; text: string }) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      <p>{text}</p>
    </div>
  );
}

/** State of a loaded value. */
export interface Loaded<T> {
  value: T | null;
  error: unknown;
  /** Resolves when the answer is shown, or the next load has begun. */
  reload(): Promise<void>;
  /** Shows this value; a load that began before is ignored. */
  set(value: T): void;
}

const SETTLE_MS = 250;

/** Loads the value, and reloads it when the server reports such a change or when `key` changes. */
export function useLoaded<T>(key: string, load: () => Promise<T>, kinds: readonly Kind[] = []): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | null; error: unknown }>({
    key,
    value: null,
    error: null,
  });
  const newest = useRef(0);
  const latest = useRef({ key, load });
  latest.current = { key, load };

  async function reload(): Promise<void> {
    newest.current += 1;
    const number = newest.current;
    const { key, load } = latest.current;
    try {
      const value = await load();
      if (number === newest.current) setState({ key, value, error: null });
    } catch (error) {
      if (number !== newest.current) return;
      setState(before => ({ key, value: before.key === key ? before.value : null, error }));
    }
  }
  // a layout effect, so that the request is sent before the browser draws
  useLayoutEffect(() => {
    void reload();
    let timer = 0;
    const soon = () => {
      clearTimeout(timer);
      timer = window.setTimeout(reload, SETTLE_MS);
    };
    const stops = ['ready' as const, 'back' as const, ...kinds].map(kind => on(kind, soon));
    return () => {
      clearTimeout(timer);
      newest.current += 1;
      for (const stop of stops) stop();
    };
  }, [key]);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : null,
    error: isCurrent ? state.error : null,
    reload,
    set(value) {
      if (latest.current.key !== key) return; // the user has gone on to another one
      newest.current += 1;
      setState({ key, value, error: null });
    },
  };
}

/** Shows the loaded value, a loading indicator, or the error. */
export function Show<T>({
  loaded,
  children,
}: {
  loaded: Loaded<T>;
  children: (value: T) => ComponentChildren;
}) {
  if (loaded.value !== null) return <>{children(loaded.value)}</>;
  if (loaded.error) return <Failure error={loaded.error} retry={loaded.reload} />;
  return <Skeleton />;
}

// ── temporary messages ──────────────────────────────────────────────────────────────────────────────────────────────

interface Toast {
  text: string;
  undo?: () => void;
}
const toast = signal<Toast | null>(null);
let toastTimer = 0;
/** Work of the current undo period; it runs when the period ends. */
let pending: (() => void) | null = null;

const TOAST_MS = 5000;
const UNDO_MS = 10_000;

export function say(text: string): void {
  settle();
  show({ text }, TOAST_MS);
}

export function sayError(error: unknown): void {
  say(messageOf(error));
}

/**
 * Runs `work` after 10 s unless the user undoes it first; at once when the page closes or the next message
 * appears.
 * @param back restores the page if `work` fails; the page then shows the error
 */
export function later(text: string, work: () => Promise<unknown>, undo: () => void, back = undo): void {
  settle();
  pending = () =>
    void work().catch(error => {
      back();
      sayError(error);
    });
  const takeBack = () => {
    pending = null;
    hide();
    undo();
  };
  show({ text, undo: takeBack }, UNDO_MS);
}

function show(shown: Toast, ms: number): void {
  clearTimeout(toastTimer);
  toast.value = shown;
  toastTimer = window.setTimeout(() => {
    settle();
    hide();
  }, ms);
}

function hide(): void {
  clearTimeout(toastTimer);
  toast.value = null;
}

function settle(): void {
  const work = pending;
  pending = null;
  work?.();
}
window.addEventListener('pagehide', settle);

/** Shows messages in a popover, which is opened anew for each one: an open dialog would cover an ordinary element. */
export function Toasts() {
  const box = useRef<HTMLDivElement>(null);
  const shown = toast.value;
  const isWaiting = isSlow.value;
  useEffect(() => {
    box.current?.hidePopover?.(); // older browsers lack it
    box.current?.showPopover?.();
    // whoever deleted with the keyboard has lost the focus with what was deleted
    const isLost = [document.body, document.getElementById('main')].includes(
      document.activeElement as HTMLElement,
    );
    if (isLost) box.current?.querySelector('button')?.focus();
  }, [shown, isWaiting]);
  return (
    <div ref={box} class="toasts" popover="manual" role="status" aria-live="polite">
      {isWaiting && <div class="toast">{t.value.saving}</div>}
      {shown && (
        <div class="toast">
          <span>{shown.text}</span>
          {shown.undo && (
            <button type="button" onClick={shown.undo}>
              {t.value.undo}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

// ── dialogs ─────────────────────────────────────────────────────────────────────────────────────────────────────

export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus(); // the browser does so only for a dialog that stays in the page
    };
  }, []);
  return (
    <dialog ref={ref} onClose={onClose} aria-label={title}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="quiet" onClick={onClose}>
          {t.value.close}
        </button>
      </header>
      {children}
    </dialog>
  );
}

// ── long lists ──────────────────────────────────────────────────────────────────────────────────────────────────

/** Position in a list, to which a page can return. */
export interface ListPosition {
  offset: number;
  measured: VirtualItem[];
}

/** Renders only the rows that fit on the screen, however long the list is. The page's content scrolls. */
export function VirtualList({
  count,
  estimate,
  keyOf,
  row,
  onRange,
  show = -1,
  begin,
  onLeave,
}: {
  count: number;
  /** Height of a row in pixels, before it is measured. */
  estimate: number;
  keyOf: (index: number) => string | number;
  row: (index: number) => ComponentChildren;
  onRange?: (from: number, to: number) => void;
  /** Row to scroll to initially; -1: none. */
  show?: number;
  /** Where to begin instead of at the top. */
  begin?: ListPosition | undefined;
  /** Called with the position at which the list is left. */
  onLeave?: (position: ListPosition) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const latestLeave = useRef(onLeave);
  latestLeave.current = onLeave;
  const instance = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  const main = () => document.getElementById('main');
  const options = {
    count,
    getScrollElement: main,
    estimateSize: () => estimate,
    getItemKey: keyOf,
    overscan: 6,
    scrollMargin: box.current?.offsetTop ?? 0,
    initialOffset: begin?.offset ?? 0,
    initialMeasurementsCache: begin?.measured ?? [],
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(number => number + 1),
  };
  instance.current ??= new Virtualizer<HTMLElement, HTMLElement>(options);
  const virtualizer = instance.current;
  virtualizer.setOptions({ ...virtualizer.options, ...options });
  useLayoutEffect(() => {
    const unmount = virtualizer._didMount();
    return () => {
      latestLeave.current?.({ offset: virtualizer.scrollOffset ?? 0, measured: virtualizer.takeSnapshot() });
      unmount();
    };
  }, []);
  useLayoutEffect(() => virtualizer._willUpdate());
  const items = virtualizer.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => onRange?.(first, last), [first, last, count]);
  useEffect(() => {
    if (begin) main()?.scrollTo(0, begin.offset); // after the router, which scrolls each page to its top
  }, []);
  useEffect(() => {
    if (show >= 0) virtualizer.scrollToIndex(show, { align: 'center' });
  }, [show]);
  return (
    <div ref={box} class="virtual" style={{ height: `${virtualizer.getTotalSize()}px` }}>
      {items.map(item => (
        <div
          key={item.key}
          data-index={item.index}
          ref={element => {
            if (element) virtualizer.measureElement(element);
          }}
          class="virtual-row"
          style={{ transform: `translateY(${item.start - virtualizer.options.scrollMargin}px)` }}
        >
          {row(item.index)}
        </div>
      ))}
    </div>
  );
}

/** Returns the name of a speaker; of an unnamed one, the number in the language of the page. */
export function speakerName({ is_user, speaker_id, speaker_name }: Segment): string {
  if (is_user) return t.value.me;
  return speaker_name === `Speaker ${speaker_id}` ? t.value.speaker(speaker_id) : speaker_name;
}

const HUES = 8;

/** A speaker's colour; the owner always has the first one. */
export function speakerClass({ is_user, speaker_id }: { is_user: boolean; speaker_id: number }): string {
  return is_user ? 'speaker-0' : `speaker-${1 + (Math.abs(speaker_id) % (HUES - 1))}`;
}
