/** Exports and deletes all data of an account. */
import { useState } from 'preact/hooks';
import { Dialog, sayError } from '../components.tsx';
import { save } from '../export.ts';
import { messageOf } from '../notices.tsx';
import { account, api, forget, request } from '../session.ts';
import { t } from '../texts.ts';

export function OwnData() {
  const [isBusy, setBusy] = useState(false);
  const [isLeaving, setLeaving] = useState(false);
  async function download() {
    setBusy(true);
    try {
      const answer = await request('GET', '/v1/users/export');
      if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
      save(await answer.blob(), 'earshot.zip');
    } catch (error) {
      sayError(error);
    }
    setBusy(false);
  }
  return (
    <div class="card note fields">
      <p>{t.value.exportText}</p>
      <button type="button" disabled={isBusy} onClick={download}>
        {isBusy ? t.value.loading : t.value.exportData}
      </button>
      <button type="button" class="quiet danger" onClick={() => setLeaving(true)}>
        {t.value.deleteAccount}
      </button>
      {isLeaving && <LeaveDialog onClose={() => setLeaving(false)} />}
    </div>
  );
}

function LeaveDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [problem, setProblem] = useState('');
  const own = account.value?.name ?? '';
  return (
    <Dialog title={t.value.deleteAccount} onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault();
          api('DELETE', '/v1/users/me', { name }).then(forget, error => setProblem(messageOf(error)));
        }}
      >
        <p>{t.value.deleteAccountText}</p>
        <label>
          {t.value.typeName(own)}
          <input
            value={name}
            required
            autocomplete="off"
            autocapitalize="none"
            onInput={event => setName(event.currentTarget.value)}
          />
        </label>
        <p class="problem" role="alert">
          {problem}
        </p>
        <button type="submit" class="danger" disabled={name !== own}>
          {t.value.deleteAccount}
        </button>
      </form>
    </Dialog>
  );
}
