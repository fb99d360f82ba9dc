import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { Empty, Icon, type ListPosition, Page, useLoaded, VirtualList } from '../components.tsx';
import type { Conversation, Folder, Person, Place } from '../data.ts';
import { on } from '../feed.ts';
import { categoryName, day, minutes, placeName, pointOf, time } from '../format.ts';
import { Failure, Skeleton } from '../notices.tsx';
import { account, api, read } from '../session.ts';
import { t } from '../texts.ts';
import { ImportDialog } from './recordings.tsx';

const PAGE_SIZE = 50;
/** Pages kept on either side of the visible part. */
const KEPT = 3;
const TYPING_MS = 200;

/** Values of the address of the page; empty: not filtered. */
interface Filter {
  query: string;
  /** `true` or empty. */
  starred: string;
  category: string;
  folder: string;
  person: string;
  source: string;
  /** Latitude, longitude. */
  place: string;
}

const NO_FILTER: Filter = {
  ...{ query: '', starred: '', category: '', folder: '', person: '', source: '', place: '' },
};

function filterOf(query: Readonly<Record<string, string>>): Filter {
  const names = Object.keys(NO_FILTER) as (keyof Filter)[];
  return { ...NO_FILTER, ...Object.fromEntries(names.map(name => [name, query[name] ?? ''])) };
}

/** Address of the list with this filter. */
export function listPath(filter: Partial<Filter>): string {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));
  return `/conversations${query.size > 0 ? `?${query}` : ''}`;
}

/** The list as it was left for a conversation, to return to it. */
let left: {
  accountId: string | undefined;
  path: string;
  pages: Map<number, Conversation[]>;
  count: number;
  position: ListPosition;
} | null = null;
let newest = listPath({});

/** Address of the list that was shown last. */
export function lastListPath(): string {
  return newest;
}

export function Conversations() {
  const { route } = useLocation();
  const filter = filterOf(useRoute().query); // of this page, also while the next one is loaded
  const path = listPath(filter);
  newest = path;
  const change = (changes: Partial<Filter>) => {
    const current = filterOf(Object.fromEntries(new URLSearchParams(location.search)));
    route(listPath({ ...current, ...changes }), true);
  };
  const [typed, setTyped] = useState(filter.query);
  useEffect(() => {
    const timer = setTimeout(
      () => typed.trim() !== filter.query && change({ query: typed.trim() }),
      TYPING_MS,
    );
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    if (filter.query === '') setTyped('');
  }, [filter.query]);
  const [isImporting, setImporting] = useState(false);
  const people = useLoaded('people', () => api<Person[]>('GET', '/v1/people'));
  const folders = useLoaded('folders', () => api<Folder[]>('GET', '/v1/dev/user/folders'));
  const places = useLoaded('places', () => api<Place[]>('GET', '/v1/places'));
  return (
    <Page
      title={t.value.conversations}
      actions={
        <button type="button" aria-label={t.value.importRecordings} onClick={() => setImporting(true)}>
          {t.value.importShort}
        </button>
      }
    >
      {isImporting && <ImportDialog onClose={() => setImporting(false)} />}
      <search class="filters">
        <input
          type="search"
          value={typed}
          placeholder={t.value.searchConversations}
          aria-label={t.value.searchConversations}
          onInput={event => setTyped(event.currentTarget.value)}
        />
        {filter.query === '' && (
          <div class="filter-row">
            <button
              type="button"
              class="chip"
              aria-pressed={filter.starred !== ''}
              onClick={() => change({ starred: filter.starred === '' ? 'true' : '' })}
            >
              <Icon name="star" filled={filter.starred !== ''} /> {t.value.starredOnly}
            </button>
            <Choice
              label={t.value.anyFolder}
              value={filter.folder}
              options={folders.value?.map(({ id, name, icon }) => [id, `${icon} ${name}`]) ?? []}
              onChange={folder => change({ folder })}
            />
            <Choice
              label={t.value.anyCategory}
              value={filter.category}
              options={Object.entries(t.value.categories)}
              onChange={category => change({ category })}
            />
            <Choice
              label={t.value.anyPerson}
              value={filter.person}
              options={people.value?.map(({ id, name }) => [id, name]) ?? []}
              onChange={person => change({ person })}
            />
            <Choice
              label={t.value.anyPlace}
              value={filter.place}
              options={placesWith(filter.place, places.value ?? [])}
              onChange={place => change({ place })}
            />
            <Choice
              label={t.value.anySource}
              value={filter.source}
              options={Object.entries(t.value.sourceNames)}
              onChange={source => change({ source })}
            />
          </div>
        )}
      </search>
      <List key={path} path={path} filter={filter} />
    </Page>
  );
}

/** Places to choose from; the chosen one is there even if nothing is known of it. */
function placesWith(chosen: string, places: readonly Place[]): (readonly [string, string])[] {
  const options = places.map(place => [pointOf(place), placeName(place)] as const);
  const isKnown = chosen === '' || options.some(([point]) => point === chosen);
  return isKnown ? options : [...options, [chosen, chosen]];
}

/** A filter, hidden if there is nothing to choose from. */
function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  onChange: (value: string) => void;
}) {
  if (options.length === 0) return null;
  return (
    <select aria-label={label} value={value} onChange={event => onChange(event.currentTarget.value)}>
      <option value="">{label}</option>
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  );
}

function addressOf(
  { query, starred, category, folder, person, source, place }: Filter,
  page: number,
): string {
  const offset = String(page * PAGE_SIZE);
  const parameters = new URLSearchParams({ limit: String(PAGE_SIZE), offset });
  if (query !== '') {
    parameters.set('query', query);
    return `/v1/dev/user/conversations/search?${parameters}`;
  }
  if (starred !== '') parameters.set('starred', 'true');
  if (category !== '') parameters.set('categories', category);
  if (folder !== '') parameters.set('folder_id', folder);
  if (person !== '') parameters.set('person_id', person);
  if (source !== '') parameters.set('source', source);
  if (place !== '') parameters.set('near', place);
  return `/v1/dev/user/conversations?${parameters}`;
}

/** Loads pages as the user scrolls to them, and drops those far away. */
function List({ path, filter }: { path: string; filter: Filter }) {
  const accountId = account.value?.id;
  const [before] = useState(left?.path === path && left.accountId === accountId ? left : null);
  const pages = useRef(before?.pages ?? new Map<number, Conversation[]>());
  const loading = useRef(new Set<number>());
  const [count, setCount] = useState<number | null>(before?.count ?? null);
  const [error, setError] = useState<unknown>(null);
  const [, redraw] = useState(0);

  function load(page: number): void {
    if (loading.current.has(page)) return;
    loading.current.add(page);
    read<Conversation[]>(addressOf(filter, page))
      .then(found => {
        pages.current.set(page, found);
        const reached = page * PAGE_SIZE + found.length;
        const more = found.length === PAGE_SIZE ? 1 : 0;
        setCount(before => (more ? Math.max(before ?? 0, reached + more) : reached));
        setError(null);
        redraw(number => number + 1);
      }, setError)
      .finally(() => loading.current.delete(page));
  }

  function show(from: number, to: number): void {
    const [first, last] = [Math.floor(from / PAGE_SIZE), Math.floor(to / PAGE_SIZE)];
    for (const page of [...pages.current.keys()])
      if (page < first - KEPT || page > last + KEPT) pages.current.delete(page);
    for (let page = first; page <= last; page += 1) if (!pages.current.has(page)) load(page);
  }

  useEffect(() => {
    left = null;
    const loadAll = () => {
      for (const page of new Set([0, ...pages.current.keys()])) load(page);
    };
    loadAll();
    let timer = 0;
    const again = () => {
      clearTimeout(timer);
      timer = window.setTimeout(loadAll, 250);
    };
    const stops = (['conversation', 'ready', 'back'] as const).map(kind => on(kind, again));
    return () => {
      clearTimeout(timer);
      for (const stop of stops) stop();
    };
  }, []);

  const at = (index: number) => pages.current.get(Math.floor(index / PAGE_SIZE))?.[index % PAGE_SIZE];
  if (count === null) return error ? <Failure error={error} retry={() => load(0)} /> : <Skeleton rows={6} />;
  const isFiltered = Object.values(filter).some(Boolean);
  if (count === 0)
    return isFiltered ? (
      <Empty icon="conversations" title={t.value.nothingFound} text={t.value.nothingFoundText} />
    ) : (
      <Empty icon="conversations" title={t.value.noConversations} text={t.value.noConversationsText} />
    );
  return (
    <VirtualList
      count={count}
      estimate={92}
      keyOf={index => at(index)?.id ?? index}
      onRange={show}
      begin={before?.position}
      onLeave={position => {
        const isForOne = location.pathname.startsWith('/conversations/');
        left = isForOne ? { accountId, path, pages: pages.current, count, position } : null;
      }}
      row={index => {
        const found = at(index);
        if (!found) return <div class="row skeleton" />;
        const before = at(index - 1);
        const isNewDay = filter.query === '' && day(begin(found)) !== (before ? day(begin(before)) : '');
        return (
          <>
            {isNewDay && <h2 class="section">{day(begin(found))}</h2>}
            <ConversationRow conversation={found} withDay={filter.query !== ''} />
          </>
        );
      }}
    />
  );
}

function begin({ started_at, created_at }: Conversation): string {
  return started_at ?? created_at;
}

export function ConversationRow({
  conversation,
  withDay = false,
}: {
  conversation: Conversation;
  withDay?: boolean;
}) {
  const { id, structured, starred, finished_at, snippet } = conversation;
  const from = begin(conversation);
  const seconds = finished_at ? (Date.parse(finished_at) - Date.parse(from)) / 1000 : 0;
  return (
    <a class="row" href={`/conversations/${id}`}>
      <span class="emoji" aria-hidden="true">
        {structured.emoji}
      </span>
      <span class="row-body">
        <span class="row-title">
          <strong>{structured.title || t.value.untitled}</strong>
          {starred && <Icon name="star" filled />}
        </span>
        <span class="row-text">{snippet || structured.overview}</span>
        <span class="row-meta">
          {withDay ? `${day(from)}, ` : ''}
          {time(from)}
          {seconds > 0 ? ` · ${minutes(seconds)}` : ''}
          {structured.category !== 'other' ? ` · ${categoryName(structured.category)}` : ''}
        </span>
      </span>
    </a>
  );
}
