import { AUDIO, BATTERY, BUTTON, FORMAT } from '../../drivers/lan-board.ts';
import { LinkLostError } from '../../guard.ts';
import type { Link } from '../../link.ts';
import { plainUuid } from '../../uuid.ts';
import type { BoardSession } from './session.ts';

const INFORMATION = '180a';
const [MODEL, FIRMWARE] = ['2a24', '2a26'];
/** Reported to drivers as on a Bluetooth connection; nothing here depends on it. */
const MTU = 517;

interface Attribute {
  service: string;
  characteristic: string;
  /** Returns null while the value is not known. */
  value?: () => Uint8Array | null;
  notifies?: 'audio' | 'battery' | 'button';
}

/** Presents a session as a link with characteristics, as drivers expect it. Writes are not possible. */
export function createBoardLink(session: BoardSession, name: string): Link {
  const attributes = attributesOf(session);
  const find = (service: string, uuid: string) =>
    attributes.find(
      each =>
        plainUuid(each.service) === plainUuid(service) && plainUuid(each.characteristic) === plainUuid(uuid),
    );
  const silences: (() => void)[] = [];
  void session.ended.then(() => {
    for (const silence of silences) silence();
  });

  async function check(what: string): Promise<void> {
    if (session.isOver) throw new LinkLostError(`${what}: ${await session.ended}`);
  }

  return {
    id: session.board.id,
    name,
    mtu: MTU,
    async properties(service, uuid) {
      return propertiesOf(find(service, uuid));
    },
    async offers() {
      return attributes.map(each => ({
        service: plainUuid(each.service),
        characteristic: plainUuid(each.characteristic),
        properties: propertiesOf(each),
      }));
    },
    async read(service, uuid) {
      await check(`reading ${uuid}`);
      const value = find(service, uuid)?.value?.();
      if (!value) throw new Error(`the board does not report ${uuid}`);
      return Buffer.from(value);
    },
    async write(_service, uuid) {
      throw new Error(`a board on the local network accepts no writes, such as to ${uuid}`);
    },
    async subscribe(service, uuid, onData) {
      await check(`subscribing to ${uuid}`);
      const kind = find(service, uuid)?.notifies;
      if (!kind) throw new Error(`the board does not notify of ${uuid}`);
      silences.push(session.listen(kind, onData));
    },
    async probe() {}, // the session ends by itself when the board falls silent
    signal: async () => null,
    hasDataLength: null,
    closed: session.ended,
    async disconnect() {
      session.end('closed by this side');
    },
  };
}

function attributesOf(session: BoardSession): Attribute[] {
  const { model, firmware, ...format } = session.introduction;
  const text = (value: string) => () => Buffer.from(value);
  return [
    { ...FORMAT, value: text(JSON.stringify(format)) },
    { ...AUDIO, notifies: 'audio' },
    { ...BUTTON, notifies: 'button' },
    {
      ...BATTERY,
      notifies: 'battery',
      value: () => (session.battery === null ? null : Uint8Array.of(session.battery)),
    },
    ...(model ? [{ service: INFORMATION, characteristic: MODEL, value: text(model) }] : []),
    ...(firmware ? [{ service: INFORMATION, characteristic: FIRMWARE, value: text(firmware) }] : []),
  ];
}

function propertiesOf(attribute: Attribute | undefined): string[] {
  const isReadable = Boolean(attribute?.value?.());
  return [...(isReadable ? ['read'] : []), ...(attribute?.notifies ? ['notify'] : [])];
}
