import { useState } from 'preact/hooks';
import { Show, sayError, useLoaded } from '../components.tsx';
import type { Access } from '../data.ts';
import { dateTime } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PAGE = 20;
const PATH = `/v1/users/accesses?limit=${PAGE}`;

/** Lists reads of the account's data, newest first. */
export function Accesses() {
  const loaded = useLoaded('accesses', () => api<Access[]>('GET', PATH));
  const [isWhole, setWhole] = useState(false);
  async function more(shown: readonly Access[]) {
    const next = await api<Access[]>('GET', `${PATH}&before=${shown.at(-1)?.id}`);
    loaded.set([...shown, ...next]);
    setWhole(next.length < PAGE);
  }
  return (
    <Show loaded={loaded}>
      {shown => (
        <div class="card note">
          <p class="hint">{shown.length === 0 ? t.value.noAccesses : t.value.accessesAbout}</p>
          <ul class="accesses">
            {shown.map(access => (
              <li key={access.id}>
                <b>{readerOf(access)}</b> {t.value.accessData(access.data, access.count)}
                {access.via === 'mcp' && ' (MCP)'} <span class="faint">{dateTime(access.last_at)}</span>
              </li>
            ))}
          </ul>
          {shown.length >= PAGE && !isWhole && (
            <button type="button" onClick={() => void more(shown).catch(sayError)}>
              {t.value.moreAccesses}
            </button>
          )}
        </div>
      )}
    </Show>
  );
}

function readerOf({ reader, reader_name, operation }: Access): string {
  if (operation === 'retention') return t.value.accessReaders.retention;
  const kind = t.value.accessReaders[reader];
  return reader_name === null ? kind : `${kind} ${reader_name}`;
}
