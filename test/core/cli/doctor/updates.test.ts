import test from 'ava';
import { updatesCheck } from '../../../../core/cli/doctor/updates.ts';
import type { Status } from '../../../../core/control/commands.ts';
import { look, patientOf } from '../../../helpers/patient.ts';

const updates = { url: 'https://earshot.example/updates.json', publicKey: `${'A'.repeat(43)}=` };

function server(part: Partial<Status['ready'][number]>): Status {
  const known = {
    part: 'updates',
    name: 'Earshot',
    optional: true,
    detail: 'something',
    cure: null,
    ok: true,
  };
  return {
    ...{ version: '0.1.0', url: null, dataDir: '', configFile: null, users: [] },
    ready: [{ ...known, ...part }],
  };
}

test("the server's knowledge of newer versions is reported, and so is that it does not look for them", async t => {
  t.like(await look(t, updatesCheck, await patientOf(t)), { updates: { level: 'note' } });
  t.like(await look(t, updatesCheck, await patientOf(t, { updates })), { updates: { level: 'note' } });
  const found = async (part: Partial<Status['ready'][number]>) =>
    (await look(t, updatesCheck, await patientOf(t, { updates }, { server: server(part) }))).updates;
  t.like(await found({}), { level: 'good', detail: 'something' });
  t.like(await found({ ok: false, detail: '0.2.0 is out', cure: 'update' }), {
    ...{ level: 'doubt', detail: '0.2.0 is out', cure: 'update' },
  });
  t.like(await found({ part: 'backup' }), { level: 'note' });
});
