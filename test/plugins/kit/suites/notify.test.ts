import test from 'ava';
import type { z } from 'zod';
import type { NotificationMessage } from '../../../../core/contract/plugin.ts';
import { type ChannelSubject, channelChecks } from '../../../../plugins/kit/suites/notify.ts';

type Fault =
  | 'does not describe an address'
  | 'prints a secret'
  | 'keeps a secret in a field that is shown'
  | 'throws at nonsense'
  | 'takes anything for an address'
  | 'makes its public key anew each time'
  | 'makes of an address what is no JSON'
  | 'makes another address of a stored one'
  | 'sends nothing'
  | 'sends twice'
  | 'leaves out who sent it'
  | 'lets a title end a line'
  | 'chokes on a long text'
  | 'needs the address of the server'
  | 'chokes on much data'
  | 'refuses to repeat'
  | 'sends one at a time'
  | 'writes into the notification'
  | 'sends though aborted'
  | 'throws something else when aborted';

/** A letter box; with `fault`, wrong in one way. */
function letterBox(fault?: Fault): ChannelSubject {
  const letters: string[] = [];
  const ids = new Set<string>();
  let keys = 0;
  let busy = false;

  function address(zod: typeof z): z.ZodObject {
    const town = zod.string().regex(/^\w+$/);
    const key = zod.string().meta({ secret: fault !== 'prints a secret' });
    const fields = {
      town: fault === 'does not describe an address' ? town : townWith(zod).describe('Where it is'),
      key: key.default('none').describe('Of its lock'),
      ...(fault === 'keeps a secret in a field that is shown'
        ? { door: zod.object({ key: key.describe('') }) }
        : {}),
    };
    return fault === 'takes anything for an address' ? (zod.any() as never) : zod.object(fields);
  }

  function townWith(zod: typeof z): z.ZodType {
    const town = zod.string().regex(/^[\w!]+$/);
    if (fault === 'makes of an address what is no JSON') return town.transform(name => new Date(name.length));
    if (fault === 'makes another address of a stored one') return town.transform(name => `${name}!`);
    if (fault === 'throws at nonsense') return zod.preprocess(name => (name as string).trim(), town);
    return town;
  }

  async function send(_address: unknown, message: NotificationMessage, signal: AbortSignal): Promise<void> {
    if (fault === 'throws something else when aborted' && signal.aborted) throw new Error('stopped');
    if (fault !== 'sends though aborted') signal.throwIfAborted();
    if (fault === 'chokes on a long text' && message.text.length > 4000) throw new Error('long');
    if (fault === 'needs the address of the server' && message.muteUrl === null)
      throw new Error('no address');
    if (fault === 'chokes on much data' && JSON.stringify(message.data).length > 8000)
      throw new Error('much');
    if (fault === 'refuses to repeat' && ids.has(message.id)) throw new Error('again');
    if (fault === 'sends one at a time' && busy) throw new Error('busy');
    if (fault === 'writes into the notification') Object.assign(message, { sent: true });
    if (fault === 'lets a title end a line' && message.title.includes('\n')) letters.push('X-Injected: yes');
    ids.add(message.id);
    busy = true;
    await new Promise(resolve => setImmediate(resolve));
    busy = false;
    const origin = fault === 'leaves out who sent it' ? '' : `${message.app}: ${message.rule}`;
    if (fault !== 'sends nothing') letters.push(`${message.title}\n${message.text}\n${origin}`);
    if (fault === 'sends twice') letters.push('once more');
  }

  return {
    channel: {
      address,
      publicInfo: () => ({ key: fault === 'makes its public key anew each time' ? `${keys++}` : 'key' }),
      send,
    },
    address: { town: 'Paris' },
    arrived: async () => [...letters],
  };
}

const ONCE = 'sends a notification once';
const VARIANTS = 'accepts each urgency, large data, and a server without a public address';
const STOPS = 'rejects with the reason when it is aborted, and sends nothing';

/** Which check has to catch which fault. */
const CAUGHT: Record<Fault, string> = {
  'does not describe an address': 'describes each field of an address',
  'prints a secret': 'marks fields of an address that look like secrets',
  'keeps a secret in a field that is shown': 'marks fields of an address that look like secrets',
  'throws at nonsense': 'refuses a nonsensical address',
  'takes anything for an address': 'refuses a nonsensical address',
  'makes its public key anew each time': 'returns public information as text, the same each time',
  'makes of an address what is no JSON': 'has addresses that survive JSON',
  'makes another address of a stored one': 'has addresses that survive JSON',
  'sends nothing': ONCE,
  'sends twice': ONCE,
  'leaves out who sent it': 'accepts title, text, sender and reason',
  'lets a title end a line': 'accepts any Unicode, line breaks in a title, and markup',
  'chokes on a long text': 'accepts the longest text',
  'needs the address of the server': VARIANTS,
  'chokes on much data': VARIANTS,
  'refuses to repeat': 'sends a notification again on request',
  'sends one at a time': 'sends several at once',
  'writes into the notification': 'does not change the address or the notification',
  'sends though aborted': STOPS,
  'throws something else when aborted': STOPS,
};

test('a channel without fault passes every check', async t => {
  for (const check of channelChecks) await t.notThrowsAsync(check.run(letterBox()), check.title);
});

for (const [fault, title] of Object.entries(CAUGHT)) {
  test(`a channel that ${fault} is caught`, async t => {
    const check = channelChecks.find(each => each.title === title);
    if (check === undefined) return t.fail(`no check is called "${title}"`);
    await t.throwsAsync(async () => check.run(letterBox(fault as Fault)));
  });
}
