/** Editors that keep unsaved input and detect concurrent changes by others. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './components.tsx';
import { messageOf } from './notices.tsx';
import { ApiError, type Version } from './session.ts';
import { t } from './texts.ts';

/** The current values, if the server refused an edit because they had changed; undefined: another error. */
export function currentOf(error: unknown): Version | undefined {
  return error instanceof ApiError ? error.current : undefined;
}

/** Shows both versions and asks which one to keep. */
export function Conflict({
  theirs,
  mine,
  problem,
  onTheirs,
  onMine,
}: {
  theirs: string;
  /** Plain text, or a field in which it can still be edited. */
  mine: ComponentChildren;
  /** Why the choice could not be stored; empty: no error. */
  problem: string;
  onTheirs: () => void;
  onMine: () => void;
}) {
  return (
    <div class="conflict" role="alert">
      <p>{t.value.changedElsewhere}</p>
      <blockquote class="theirs">{theirs}</blockquote>
      {typeof mine === 'string' ? (
        <>
          <p>{t.value.yourVersion}</p>
          <blockquote>{mine}</blockquote>
        </>
      ) : (
        mine
      )}
      <p class="problem">{problem}</p>
      <div class="buttons">
        <button type="button" onClick={onTheirs}>
          {t.value.keepTheirs}
        </button>
        <button type="button" class="primary" onClick={onMine}>
          {t.value.keepMine}
        </button>
      </div>
    </div>
  );
}

/**
 * Checkbox of which each change is stored at once. Until that is done it shows the user's choice, even if the old value is
 * loaded again meanwhile.
 */
export function StoredCheck({
  checked,
  label,
  store,
}: {
  checked: boolean;
  /** Where no label element encloses it. */
  label?: string;
  /** Resolves when the change is stored and shown, or the user has been told why it is not. */
  store: (checked: boolean) => Promise<unknown>;
}) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  return (
    <input
      type="checkbox"
      checked={chosen ?? checked}
      aria-label={label}
      onChange={event => {
        const choice = event.currentTarget.checked;
        setChosen(choice);
        void store(choice).finally(() => setChosen(null));
      }}
    />
  );
}

/** Stays open until the text is stored. */
export function TextDialog({
  title,
  label,
  value,
  max,
  onClose,
  onSave,
}: {
  title: string;
  label: string;
  value: string;
  max: number;
  onClose: () => void;
  /** @param seen the text that the user started from; the server refuses the edit if it has changed since */
  onSave: (text: string, seen: string) => Promise<void>;
}) {
  const [text, setText] = useState(value);
  const [seen] = useState(value); // frozen, as live updates of the page continue
  const [theirs, setTheirs] = useState<string | null>(null);
  const [problem, setProblem] = useState('');

  async function save(from: string) {
    try {
      await onSave(text.trim(), from);
      onClose();
    } catch (error) {
      const [other] = Object.values(currentOf(error) ?? {});
      if (typeof other === 'string') setTheirs(other);
      else setProblem(messageOf(error));
    }
  }
  const field = (name: string) => (
    <label>
      {name}
      <textarea
        rows={4}
        maxLength={max}
        required
        value={text}
        onInput={event => setText(event.currentTarget.value)}
      />
    </label>
  );
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault();
          void save(seen);
        }}
      >
        {theirs === null ? (
          <>
            {field(label)}
            <p class="problem" role="alert">
              {problem}
            </p>
            <div class="buttons">
              <button type="button" class="quiet" onClick={onClose}>
                {t.value.cancel}
              </button>
              <button type="submit" class="primary">
                {t.value.save}
              </button>
            </div>
          </>
        ) : (
          <Conflict
            theirs={theirs}
            mine={field(t.value.yourVersion)}
            problem={problem}
            onTheirs={onClose}
            onMine={() => void save(theirs)}
          />
        )}
      </form>
    </Dialog>
  );
}
