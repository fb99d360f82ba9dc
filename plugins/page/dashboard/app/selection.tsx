/** Selects several rows and applies an action to all of them. */
import { useState } from 'preact/hooks';
import { say, sayError } from './components.tsx';
import { t } from './texts.ts';

export interface Selection {
  /** Null: selection mode is off. */
  ids: ReadonlySet<string> | null;
  toggle(id: string): void;
  begin(): void;
  end(): void;
  set(ids: readonly string[]): void;
}

export function useSelection(): Selection {
  const [ids, setIds] = useState<ReadonlySet<string> | null>(null);
  return {
    ids,
    toggle: id =>
      setIds(before => (before?.has(id) ? without(before, id) : new Set([...(before ?? []), id]))),
    begin: () => setIds(new Set()),
    end: () => setIds(null),
    set: all => setIds(new Set(all)),
  };
}

function without(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  return new Set([...ids].filter(each => each !== id));
}

export interface BulkAction {
  label: string;
  isDanger?: boolean;
  run(id: string): Promise<unknown>;
}

/** Begins and ends the selection; for the head of the page. */
export function SelectButton({ selection }: { selection: Selection }) {
  const isOff = selection.ids === null;
  return (
    <button type="button" onClick={isOff ? selection.begin : selection.end}>
      {isOff ? t.value.select : t.value.cancel}
    </button>
  );
}

/** Sends the requests one after the other; the first failure stops and is shown. */
export function SelectionBar({
  selection,
  all,
  actions,
  onDone,
}: {
  selection: Selection;
  all: readonly string[];
  actions: readonly BulkAction[];
  onDone: () => void;
}) {
  const [isBusy, setBusy] = useState(false);
  const { ids } = selection;
  if (ids === null) return null;
  async function run(action: BulkAction) {
    setBusy(true);
    try {
      for (const id of ids ?? []) await action.run(id);
      say(t.value.saved);
      selection.end();
    } catch (error) {
      sayError(error);
    }
    setBusy(false);
    onDone();
  }
  return (
    <fieldset class="selection" disabled={isBusy}>
      <legend>{t.value.selected(ids.size)}</legend>
      <button type="button" onClick={() => selection.set(all)}>
        {t.value.selectAll}
      </button>
      {actions.map(action => (
        <button
          key={action.label}
          type="button"
          class={action.isDanger ? 'danger' : ''}
          disabled={ids.size === 0}
          onClick={() => run(action)}
        >
          {action.label}
        </button>
      ))}
    </fieldset>
  );
}
