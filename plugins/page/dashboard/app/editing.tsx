/** Editing a text without losing what was typed, or what somebody else has written meanwhile. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog, messageOf } from './components.tsx';
import { ApiError } from './session.ts';
import { t } from './texts.ts';

/** The values that are there instead of those that were expected; undefined: it failed for another reason. */
export function currentOf(error: unknown): Readonly<Record<string, unknown>> | undefined {
  return error instanceof ApiError ? error.current : undefined;
}

/** Both versions, and the choice between them. */
export function Conflict({
  theirs,
  mine,
  onTheirs,
  onMine,
}: {
  theirs: string;
  /** As text, or a field in which it can still be changed. */
  mine: ComponentChildren;
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
  /** @param seen what the change was made from: refused where it is another text by now */
  onSave: (text: string, seen: string) => Promise<void>;
}) {
  const [text, setText] = useState(value);
  const [seen] = useState(value); // live changes of the page go on meanwhile
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
            onTheirs={onClose}
            onMine={() => void save(theirs)}
          />
        )}
      </form>
    </Dialog>
  );
}
