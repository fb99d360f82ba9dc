/** Pairs a wearable: creates a key for its bridge, shows the command to run, and waits until the wearable connects. */
import { useRef, useState } from 'preact/hooks';
import { Dialog, say, useLoaded } from '../components.tsx';
import type { Wearable } from '../data.ts';
import { messageOf } from '../notices.tsx';
import { api } from '../session.ts';
import { t } from '../texts.ts';

export function Pairing() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {t.value.pair}
      </button>
      {isOpen && (
        <Dialog title={t.value.pair} onClose={() => setOpen(false)}>
          <Steps onDone={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  );
}

function Steps({ onDone }: { onDone: () => void }) {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState('');
  const found = useNewWearable();
  const make = () =>
    api<{ key: string }>('POST', '/v1/dev/keys', { name: t.value.bridgeKey, scopes: ['listen'] }).then(
      made => setKey(made.key),
      error => setProblem(messageOf(error)),
    );
  return (
    <>
      <ul class="steps">
        <li>
          <p>{t.value.pairHere}</p>
          <Command text="npx earshot bridge" />
        </li>
        <li>
          <p>{t.value.pairElsewhere}</p>
          {key === '' ? (
            <button type="button" onClick={() => void make()}>
              {t.value.pairMakeKey}
            </button>
          ) : (
            <>
              <Command text={`EARSHOT_BRIDGE__KEY=${key} npx earshot-bridge --core ${address()}`} />
              <p class="hint">{isLocal() ? `${t.value.keyShown} ${t.value.pairLocal}` : t.value.keyShown}</p>
            </>
          )}
        </li>
      </ul>
      <p class="problem" role="alert">
        {problem}
      </p>
      <p role="status" class={found ? 'status on' : 'status'}>
        <span class="pulse" aria-hidden="true" />
        {found ? t.value.pairFound(found.name) : t.value.pairWaiting}
      </p>
      {found && <Naming key={found.id} wearable={found} onDone={onDone} />}
    </>
  );
}

/** The first wearable that connects while the dialog is open. */
function useNewWearable(): Wearable | undefined {
  const before = useRef<ReadonlySet<string> | null>(null);
  const loaded = useLoaded('pairing', () => api<{ devices: Wearable[] }>('GET', '/v1/devices'), [
    'device',
    'device_event',
  ]);
  const connected = loaded.value?.devices.filter(device => device.connected);
  if (connected) before.current ??= new Set(connected.map(({ id }) => id));
  return connected?.find(({ id }) => !before.current?.has(id));
}

function Naming({ wearable: { id, name }, onDone }: { wearable: Wearable; onDone: () => void }) {
  const [problem, setProblem] = useState('');
  async function save(event: SubmitEvent) {
    event.preventDefault();
    const chosen = String(new FormData(event.currentTarget as HTMLFormElement).get('name'));
    try {
      await api('PATCH', `/v1/devices/${encodeURIComponent(id)}`, { name: chosen });
      say(t.value.saved);
      onDone();
    } catch (error) {
      setProblem(messageOf(error));
    }
  }
  return (
    <form onSubmit={save}>
      <label>
        {t.value.name}
        <input name="name" required maxLength={100} defaultValue={name} />
      </label>
      <p class="problem" role="alert">
        {problem}
      </p>
      <button type="submit" class="primary">
        {t.value.save}
      </button>
    </form>
  );
}

function Command({ text }: { text: string }) {
  const copy = () => navigator.clipboard.writeText(text).then(() => say(t.value.copied));
  return (
    <p class="command">
      <code class="secret">{text}</code>
      {/* Browsers have no clipboard over plain HTTP: there the text is selected by hand. */}
      {navigator.clipboard && (
        <button
          type="button"
          aria-label={`${t.value.copy}: ${text.split(' ').at(-1)}`}
          onClick={() => void copy()}
        >
          {t.value.copy}
        </button>
      )}
    </p>
  );
}

function address(): string {
  return `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}`;
}

/** Whether the page was opened on the server itself, by a name that other machines cannot use. */
function isLocal(): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);
}
