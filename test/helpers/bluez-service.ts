import { type EventEmitter, once } from 'node:events';
import { Message, MessageType, sessionBus, Variant } from '@jellybrick/dbus-next';
import type { AirDevice } from '../../bridge/simulator/controller.ts';
import type { ServiceSpec } from '../../bridge/simulator/gatt-server.ts';
import { plainUuid } from '../../bridge/uuid.ts';
import { AttError, type AttSession, connectAtt, uuidOf } from './att-client.ts';

/** A device within reach of the adapter. */
export interface SimulatedDevice {
  address: string;
  name: string;
  rssi: number;
  services: ServiceSpec[];
  /** Characteristics that only a paired host can read, write and subscribe to. */
  bonded?: readonly string[];
  /** True: attempts to connect get no answer. */
  ignores?: boolean;
  /** True: reads get no answer. */
  silent?: boolean;
  /** Simulated wearable that answers requests; absent: the fields above do. */
  air?: AirDevice;
}

const FIELD = { services16: 0x03, services128: 0x07, name: 0x09 } as const;

/** Describes a simulated wearable as its advertisement does, which is all that is known before it is connected. */
export function onTheAir(air: AirDevice): SimulatedDevice {
  const fields = fieldsOf(Buffer.concat([air.advertisement() ?? Buffer.alloc(0), air.scanResponse()]));
  const uuids = (type: number, size: number) =>
    fields
      .filter(field => field.type === type)
      .flatMap(({ data }) =>
        Array.from({ length: data.length / size }, (_, at) =>
          uuidOf(data.subarray(at * size, (at + 1) * size)),
        ),
      );
  const advertised = [...uuids(FIELD.services128, 16), ...uuids(FIELD.services16, 2)];
  return {
    address: air.address,
    name: fields.find(({ type }) => type === FIELD.name)?.data.toString() ?? '',
    rssi: -50,
    services: advertised.map(uuid => ({ uuid, characteristics: [] })),
    air,
  };
}

function fieldsOf(bytes: Buffer): { type: number; data: Buffer }[] {
  const fields = [];
  for (let at = 0; at < bytes.length; at += 1 + (bytes[at] ?? 0)) {
    const end = at + 1 + (bytes[at] ?? 0);
    fields.push({ type: bytes[at + 1] ?? 0, data: bytes.subarray(at + 2, end) });
  }
  return fields;
}

/** A service that speaks the D-Bus API of BlueZ 5.66: adapters, discovery, GATT, pairing. */
export interface BluezService {
  power(on: boolean): void;
  notify(device: SimulatedDevice, uuid: string, bytes: Uint8Array): void;
  drop(device: SimulatedDevice): void;
  /** Methods called by clients, such as `Device1.Connect`. */
  readonly calls: readonly string[];
  readonly isDiscovering: boolean;
  readonly paired: ReadonlySet<SimulatedDevice>;
  /** Disappears from the bus, as when bluetoothd ends. */
  stop(): void;
}

type Properties = Record<string, Variant>;
const BLUEZ = 'org.bluez';
const ADAPTER = '/org/bluez/hci0';
const PROPERTIES = 'org.freedesktop.DBus.Properties';
const MANAGER = 'org.freedesktop.DBus.ObjectManager';
const FLAGS: Readonly<Record<string, string>> = { writeWithoutResponse: 'write-without-response' };

class Refusal extends Error {
  readonly errorName: string;
  constructor(errorName: string, text: string) {
    super(text);
    this.errorName = `org.bluez.Error.${errorName}`;
  }
}

/** Converts an error response of a device into bluetoothd's error. */
function refused<T>(answer: Promise<T>): Promise<T> {
  return answer.catch(error => {
    throw error instanceof AttError ? new Refusal('Failed', error.message) : error;
  });
}

export async function startBluez(
  address: string,
  devices: readonly SimulatedDevice[],
  { mtu = 185, pairing = 'accepted' as 'accepted' | 'rejected' } = {},
): Promise<BluezService> {
  const bus = sessionBus({ busAddress: address, authMethods: ['EXTERNAL'] });
  let isOver = false;
  (bus as EventEmitter).on('error', () => {
    isOver = true; // the bus may end first
  });
  await once(bus, 'connect');
  const objects = new Map<string, Record<string, Properties>>();
  const owners = new Map<string, { device: SimulatedDevice; uuid?: string; handle?: number }>();
  const sessions = new Map<SimulatedDevice, AttSession>();
  const calls: string[] = [];
  const paired = new Set<SimulatedDevice>();
  const notifying = new Set<string>();
  let agent: { owner: string; path: string } | null = null;
  let advertising: NodeJS.Timeout | null = null;

  const send = (message: Message) => {
    if (!isOver) bus.send(message);
  };
  const pathOf = ({ address: own }: SimulatedDevice) =>
    `${ADAPTER}/dev_${own.toUpperCase().replaceAll(':', '_')}`;
  const properties = (path: string, name: string): Properties =>
    objects.get(path)?.[`${BLUEZ}.${name}`] ?? {};
  const signal = (path: string, name: string, member: string, signature: string, body: unknown[]) =>
    send(Message.newSignal(path, name, member, signature, body));

  function add(path: string, name: string, values: Properties): void {
    const own = { [`${BLUEZ}.${name}`]: values };
    objects.set(path, { ...objects.get(path), ...own });
    signal('/', MANAGER, 'InterfacesAdded', 'oa{sa{sv}}', [path, own]);
  }

  function remove(path: string): void {
    const names = Object.keys(objects.get(path) ?? {});
    objects.delete(path);
    signal('/', MANAGER, 'InterfacesRemoved', 'oas', [path, names]);
  }

  function change(path: string, name: string, values: Properties): void {
    if (!objects.has(path)) return;
    Object.assign(properties(path, name), values);
    signal(path, PROPERTIES, 'PropertiesChanged', 'sa{sv}as', [`${BLUEZ}.${name}`, values, []]);
  }

  function advertise(): void {
    for (const device of devices) {
      const path = pathOf(device);
      const rssi = new Variant('n', device.rssi);
      if (properties(path, 'Device1').Connected?.value === true) continue;
      if (device.air && !device.air.advertisement()) continue;
      if (objects.has(path)) change(path, 'Device1', { RSSI: rssi });
      else
        add(path, 'Device1', {
          Address: new Variant('s', device.address.toUpperCase()),
          Name: new Variant('s', device.name),
          UUIDs: new Variant(
            'as',
            device.services.map(({ uuid }) => uuid),
          ),
          ManufacturerData: new Variant('a{qv}', { 93: new Variant('ay', Buffer.from('0456', 'hex')) }),
          RSSI: rssi,
          Connected: new Variant('b', false),
          Paired: new Variant('b', false),
          ServicesResolved: new Variant('b', false),
        });
    }
  }

  function setDiscovering(on: boolean): void {
    if (advertising) clearInterval(advertising);
    advertising = on ? setInterval(advertise, 20) : null;
    change(ADAPTER, 'Adapter1', { Discovering: new Variant('b', on) });
  }

  function resolveServices(device: SimulatedDevice): void {
    const path = pathOf(device);
    const session = sessions.get(device);
    for (const [index, service] of (session ?? device).services.entries()) {
      const at = `${path}/service${index}`;
      add(at, 'GattService1', { UUID: new Variant('s', service.uuid), Device: new Variant('o', path) });
      for (const [place, characteristic] of service.characteristics.entries()) {
        const { uuid, properties: flags } = characteristic;
        const own = 'handle' in characteristic ? { handle: characteristic.handle } : {};
        owners.set(`${at}/char${place}`, { device, uuid, ...own });
        add(`${at}/char${place}`, 'GattCharacteristic1', {
          UUID: new Variant('s', uuid),
          Service: new Variant('o', at),
          Flags: new Variant(
            'as',
            flags.map(flag => FLAGS[flag] ?? flag),
          ),
          MTU: new Variant('q', session?.mtu ?? mtu),
        });
      }
    }
    change(path, 'Device1', { ServicesResolved: new Variant('b', true) });
  }

  function drop(device: SimulatedDevice): void {
    const path = pathOf(device);
    const session = sessions.get(device);
    sessions.delete(device);
    session?.disconnect();
    notifying.clear();
    change(path, 'Device1', {
      ServicesResolved: new Variant('b', false),
      Connected: new Variant('b', false),
    });
    for (const each of [...objects.keys()].reverse()) if (each.startsWith(`${path}/`)) remove(each);
  }

  function characteristic(path: string) {
    const owner = owners.get(path);
    const spec = owner?.device.services
      .flatMap(({ characteristics }) => characteristics)
      .find(({ uuid }) => uuid === owner.uuid);
    if (!owner || !spec || !objects.has(path)) throw new Refusal('Failed', 'Not connected');
    const isBonded = owner.device.bonded?.some(uuid => plainUuid(uuid) === plainUuid(spec.uuid));
    if (isBonded && !paired.has(owner.device)) throw new Refusal('NotPermitted', 'Not paired');
    return { device: owner.device, spec };
  }

  /** Finds a characteristic of a simulated wearable; null: the device is described here. */
  function live(path: string): { session: AttSession; handle: number } | null {
    const owner = owners.get(path);
    if (!owner?.device.air) return null;
    const session = sessions.get(owner.device);
    if (!session || owner.handle === undefined) throw new Refusal('Failed', 'Not connected');
    return { session, handle: owner.handle };
  }

  async function openSession(device: SimulatedDevice, air: AirDevice): Promise<void> {
    const attempt = air.attempt();
    if (attempt === 'ignore') return never;
    if (attempt !== 'accept') throw new Refusal('Failed', 'le-connection-abort-by-local');
    let session: AttSession | null = null;
    session = await connectAtt(air, {
      onNotification(handle, bytes) {
        for (const [path, owner] of owners)
          if (owner.device === device && owner.handle === handle && notifying.has(path))
            change(path, 'GattCharacteristic1', { Value: new Variant('ay', bytes) });
      },
      onClosed() {
        if (session && sessions.get(device) === session) drop(device);
      },
    });
    sessions.set(device, session);
  }

  const never = new Promise<never>(() => {});
  const deviceAt = (path: string) => devices.find(each => pathOf(each) === path);

  /** Signature and values of each method's answer; undefined: no answer. */
  const METHODS: Record<string, (message: Message) => Promise<[string, unknown[]] | undefined>> = {
    async 'ObjectManager.GetManagedObjects'() {
      return ['a{oa{sa{sv}}}', [Object.fromEntries(objects)]];
    },
    async 'Properties.Set'({ path, body: [, name, value] }) {
      change(path, 'Device1', { [String(name)]: value as Variant });
      return undefined;
    },
    async 'Adapter1.SetDiscoveryFilter'() {
      return undefined;
    },
    async 'Adapter1.StartDiscovery'() {
      if (properties(ADAPTER, 'Adapter1').Powered?.value !== true)
        throw new Refusal('NotReady', 'Resource Not Ready');
      setDiscovering(true);
      return undefined;
    },
    async 'Adapter1.StopDiscovery'() {
      setDiscovering(false);
      return undefined;
    },
    async 'Device1.Connect'({ path }) {
      const device = deviceAt(path);
      if (!device) throw new Refusal('DoesNotExist', 'Does Not Exist');
      if (device.ignores) return never;
      if (device.air) await openSession(device, device.air);
      change(path, 'Device1', { Connected: new Variant('b', true) });
      setImmediate(resolveServices, device);
      return undefined;
    },
    async 'Device1.Disconnect'({ path }) {
      const device = deviceAt(path);
      if (device) drop(device);
      return undefined;
    },
    async 'Device1.Pair'({ path }) {
      const device = deviceAt(path);
      if (!device || !agent) throw new Refusal('AuthenticationFailed', 'Authentication Failed');
      await bus
        .call(
          new Message({
            destination: agent.owner,
            path: agent.path,
            interface: 'org.bluez.Agent1',
            member: pairing === 'accepted' ? 'RequestAuthorization' : 'RequestPasskey',
            signature: 'o',
            body: [path],
          }),
        )
        .catch(() => {
          throw new Refusal('AuthenticationFailed', 'Authentication Failed');
        });
      paired.add(device);
      change(path, 'Device1', { Paired: new Variant('b', true) });
      return undefined;
    },
    async 'AgentManager1.RegisterAgent'({ sender, body: [path] }) {
      if (agent) throw new Refusal('AlreadyExists', 'Already Exists');
      agent = { owner: sender, path: String(path) };
      return undefined;
    },
    async 'GattCharacteristic1.ReadValue'({ path }) {
      const remote = live(path);
      if (remote) {
        const read = await refused(remote.session.read(remote.handle));
        change(path, 'GattCharacteristic1', { Value: new Variant('ay', read) });
        return ['ay', [read]];
      }
      const { device, spec } = characteristic(path);
      if (device.silent) return never;
      if (!spec.properties.includes('read')) throw new Refusal('NotPermitted', 'Read not permitted');
      const value = Buffer.from(spec.value?.() ?? []);
      change(path, 'GattCharacteristic1', { Value: new Variant('ay', value) }); // as bluetoothd does
      return ['ay', [value]];
    },
    async 'GattCharacteristic1.WriteValue'({ path, body: [bytes, options] }) {
      const remote = live(path);
      if (remote) {
        const type = (options as Record<string, Variant>).type?.value;
        await refused(remote.session.write(remote.handle, bytes as Buffer, type === 'request'));
        return undefined;
      }
      const { spec } = characteristic(path);
      const code = spec.write ? spec.write(bytes as Buffer) : 0x03;
      if (code !== undefined) throw new Refusal('Failed', `Operation failed with ATT error: 0x0${code}`);
      return undefined;
    },
    async 'GattCharacteristic1.StartNotify'({ path }) {
      const remote = live(path);
      notifying.add(path); // the first notification may come before the answer
      if (remote) await refused(remote.session.subscribe(remote.handle));
      else characteristic(path);
      return undefined;
    },
  };

  bus.addMethodHandler((message: Message) => {
    if (message.type !== MessageType.METHOD_CALL) return false;
    const name = `${message.interface.split('.').at(-1)}.${message.member}`;
    const method = METHODS[name];
    if (!method) return false;
    calls.push(name);
    method(message).then(
      answer => send(Message.newMethodReturn(message, answer?.[0] ?? '', answer?.[1] ?? [])),
      error => send(Message.newError(message, error.errorName ?? 'org.bluez.Error.Failed', error.message)),
    );
    return true;
  });

  objects.set(ADAPTER, {
    [`${BLUEZ}.Adapter1`]: { Powered: new Variant('b', true), Discovering: new Variant('b', false) },
  });
  await bus.requestName(BLUEZ);
  return {
    power(on) {
      if (!on) for (const device of devices) drop(device);
      if (!on) setDiscovering(false);
      change(ADAPTER, 'Adapter1', { Powered: new Variant('b', on) });
    },
    notify(device, uuid, bytes) {
      for (const [path, owner] of owners)
        if (owner.device === device && plainUuid(owner.uuid ?? '') === plainUuid(uuid) && notifying.has(path))
          change(path, 'GattCharacteristic1', { Value: new Variant('ay', Buffer.from(bytes)) });
    },
    drop,
    calls,
    get isDiscovering() {
      return advertising !== null;
    },
    paired,
    stop() {
      isOver = true;
      if (advertising) clearInterval(advertising);
      bus.disconnect();
    },
  };
}
