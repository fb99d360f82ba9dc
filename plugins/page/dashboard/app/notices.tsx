/** Shown while something loads, or instead of it. The sign-in uses them, so they import no page. */
import { hurry } from './feed.ts';
import { ApiError } from './session.ts';
import { t } from './texts.ts';

export function Skeleton({ rows = 4 }: { rows?: number }) {
  return (
    <div class="skeletons" role="status" aria-label={t.value.loading}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class="skeleton" />
      ))}
    </div>
  );
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <p>{messageOf(error)}</p>
      {retry && (
        <button
          type="button"
          onClick={() => {
            hurry();
            retry();
          }}
        >
          {t.value.retry}
        </button>
      )}
    </div>
  );
}

export function messageOf(error: unknown): string {
  if (error instanceof ApiError && error.status === 0) return t.value.unreachable;
  return error instanceof Error && error.message !== '' ? error.message : t.value.failed;
}
