import test from 'ava';
import { deliveryCheck } from '../../../../core/cli/doctor/delivery.ts';
import { look, patientOf } from '../../../helpers/patient.ts';

test('with no allowed host everything passes', async t => {
  const found = await look(t, deliveryCheck, await patientOf(t));
  t.like(found, { 'allowed hosts': { level: 'good' } });
  t.is(Object.keys(found).length, 1);
});

test('hosts that are allowed are shown', async t => {
  const delivery = { allowHosts: ['10.0.0.0/8', '192.168.1.5:8123'] };
  const found = await look(t, deliveryCheck, await patientOf(t, { delivery }));
  t.deepEqual(Object.keys(found), ['allowed hosts']);
  t.like(found['allowed hosts'], { level: 'good', detail: '10.0.0.0/8, 192.168.1.5:8123' });
});

test('an unknown host name is a warning', async t => {
  const delivery = { allowHosts: ['nobody.invalid:8123', 'localhost'] };
  const found = await look(t, deliveryCheck, await patientOf(t, { delivery }));
  t.is(found['nobody.invalid']?.level, 'doubt');
  t.is(found.localhost, undefined);
  t.is(found.reach?.level, 'note');
});

test('a network with cloud credentials is a warning', async t => {
  for (const network of ['0.0.0.0/0', '169.254.0.0/16', '169.254.169.254']) {
    const found = await look(t, deliveryCheck, await patientOf(t, { delivery: { allowHosts: [network] } }));
    t.is(found.reach?.level, 'doubt', network);
  }
});
