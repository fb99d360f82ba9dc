import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import test from 'ava';
import { WebSocket } from 'ws';
import { eventually } from '../helpers/eventually.ts';
import { countingStt, openServer } from '../helpers/services.ts';

const sketch = await readFile(new URL('../../docs/esp32.md', import.meta.url), 'utf8');

/** Evaluates a text constant of the sketch as the compiler would. */
function constant(name: string): string {
  const [, text] = new RegExp(`^const char\\* ${name} = (".*");$`, 'm').exec(sketch) ?? [];
  return JSON.parse(text ?? 'null');
}

test('the server accepts what the ESP32 sketch sends, as audio and as a device', async t => {
  const server = await openServer(t, countingStt());
  const headers = { Authorization: `Bearer ${server.key}` };
  const socket = new WebSocket(server.url.replace('http', 'ws') + constant('LISTEN'), { headers });
  t.teardown(() => socket.terminate());
  await once(socket, 'open');
  const messages: string[] = [];
  socket.on('message', data => messages.push(String(data)));
  const samples = Number(/const int SAMPLES = (\d+);/.exec(sketch)?.[1]);
  for (let frame = 0; frame < 50; frame += 1) socket.send(Buffer.alloc(samples * 2));
  await eventually(() => messages.some(text => text.includes('conversation_session')));
  t.false(messages.some(text => text.includes('"error"')));
  const report = await fetch(server.url + constant('REPORT'), {
    method: 'PUT',
    headers: { ...headers, 'content-type': 'application/json' },
    body: constant('REPORT_BODY'),
  });
  t.is(report.status, 200);
  const id = new URL(constant('LISTEN'), 'ws://host').searchParams.get('client_device_id');
  const { body } = await server.get(`/v1/devices/${id}`);
  t.like(body, { id, name: 'Desk', connected: true });
});
