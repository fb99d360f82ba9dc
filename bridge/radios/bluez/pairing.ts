import type { Bus } from './bus.ts';

const AGENT = '/org/earshot/agent';
const AGENT_INTERFACE = 'org.bluez.Agent1';
/** Methods of a pairing agent that ask for a code, which nobody here could enter. */
const NEEDS_A_PERSON = ['RequestPinCode', 'RequestPasskey', 'RequestConfirmation'];

const served = new WeakSet<Bus>();

/** Pairs with a device that needs no code; bluetoothd keeps the keys. @throws Error that says what to do */
export async function pair({
  bus,
  path,
  limitMs,
}: {
  bus: Bus;
  path: string;
  limitMs: number;
}): Promise<void> {
  try {
    await offerAgent(bus, limitMs);
    await bus.call({ path, interface: 'org.bluez.Device1', member: 'Pair', limitMs });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (!/already/i.test(reason))
      throw new Error(
        `the device has to be paired, and pairing failed: ${reason}; remove old pairings on the device, or pair it once by hand: bluetoothctl pair ${addressOf(path)}`,
      );
  }
  const trusted = bus.variant('b', true);
  await bus
    .call({
      path,
      interface: 'org.freedesktop.DBus.Properties',
      member: 'Set',
      signature: 'ssv',
      body: ['org.bluez.Device1', 'Trusted', trusted],
      limitMs,
    })
    .catch(() => {}); // the pairing has succeeded already
}

async function offerAgent(bus: Bus, limitMs: number): Promise<void> {
  if (!served.has(bus))
    bus.serve(AGENT, AGENT_INTERFACE, member =>
      NEEDS_A_PERSON.includes(member) ? 'org.bluez.Error.Rejected' : null,
    );
  served.add(bus);
  await bus
    .call({
      path: '/org/bluez',
      interface: 'org.bluez.AgentManager1',
      member: 'RegisterAgent',
      signature: 'os',
      body: [AGENT, 'NoInputNoOutput'],
      limitMs,
    })
    .catch(error => {
      if (!/AlreadyExists/.test(String(error.errorName))) throw error;
    });
}

/** `/org/bluez/hci0/dev_C0_FF_EE_00_00_01` */
function addressOf(path: string): string {
  return (/dev_((?:[0-9A-F]{2}_?){6})$/.exec(path)?.[1] ?? '').replaceAll('_', ':');
}
