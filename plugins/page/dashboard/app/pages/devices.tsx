import { useState } from 'preact/hooks';
import { Icon, later, Show, useLoaded } from '../components.tsx';
import type { Wearable } from '../data.ts';
import { TextDialog } from '../editing.tsx';
import { dateTime } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';
import { Pairing } from './pairing.tsx';

const PATH = '/v1/devices';

/** Wearables reported by bridges. */
export function Devices() {
  const devices = useLoaded('devices', () => api<{ devices: Wearable[] }>('GET', PATH), [
    'device',
    'device_event',
  ]);
  return (
    <section>
      <header class="section-head">
        <h2 class="section">{t.value.devices}</h2>
        <Pairing />
      </header>
      <Show loaded={devices}>
        {({ devices: found }) =>
          found.length === 0 ? (
            <p class="card note">{`${t.value.noDevice}. ${t.value.pairHint}`}</p>
          ) : (
            <div class="card list">
              {found.map(device => (
                <DeviceRow key={device.id} device={device} reload={devices.reload} />
              ))}
            </div>
          )
        }
      </Show>
    </section>
  );
}

function DeviceRow({ device, reload }: { device: Wearable; reload: () => void }) {
  const [isEditing, setEditing] = useState(false);
  const [isGone, setGone] = useState(false);
  const path = `${PATH}/${encodeURIComponent(device.id)}`;
  if (isGone) return null;
  const facts = [
    device.battery === null ? '' : `${t.value.battery} ${device.battery} %`,
    device.signal_dbm === null ? '' : `${t.value.signal} ${device.signal_dbm} dBm`,
    device.loss_percent ? t.value.lost(device.loss_percent) : '',
    [device.model, device.firmware].filter(Boolean).join(' '),
    device.connected ? '' : dateTime(device.last_seen_at),
  ];
  return (
    <div class="row">
      <span class="row-body">
        <strong>{device.name}</strong>
        <span class={device.connected ? 'status on' : 'status'}>
          {device.connected && <span class="pulse" aria-hidden="true" />}
          {t.value.deviceStates[device.state]}
          {device.reason ? `: ${device.reason}` : ''}
        </span>
        <span class={device.low_battery ? 'late' : 'row-meta'}>{facts.filter(Boolean).join(' · ')}</span>
        {device.notes.map(note => (
          <span key={note} class="row-meta">
            {note}
          </span>
        ))}
      </span>
      <button
        type="button"
        class="quiet icon-button"
        aria-label={`${t.value.edit}: ${device.name}`}
        onClick={() => setEditing(true)}
      >
        <Icon name="edit" />
      </button>
      <button
        type="button"
        class="quiet icon-button danger"
        aria-label={`${t.value.forget}: ${device.name}`}
        onClick={() => {
          setGone(true);
          later(
            t.value.deleted,
            () => api('DELETE', path, undefined, { keepalive: true }),
            () => setGone(false),
          );
        }}
      >
        <Icon name="trash" />
      </button>
      {isEditing && (
        <TextDialog
          title={t.value.edit}
          label={t.value.name}
          value={device.name}
          max={100}
          onClose={() => setEditing(false)}
          onSave={async name => {
            await api('PATCH', path, { name });
            reload();
          }}
        />
      )}
    </div>
  );
}
