import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';

interface DnsServer {
  /** `127.0.0.1:<port>` */
  address: string;
  /** Names of the IPv4 queries, in order. */
  asked: string[];
  close(): Promise<void>;
}

/** A DNS server on a real socket. @param answer returns the addresses of a name; none: the name does not exist */
export async function startDnsServer(answer: (name: string) => string[]): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const { name, end } = questionOf(query);
    const isForIPv6 = query.readUInt16BE(end) === 28;
    if (!isForIPv6) asked.push(name);
    const all = answer(name);
    const records = all.filter(each => isIP(each) === (isForIPv6 ? 6 : 4)).map(recordOf);
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(all.length > 0 ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(records.length, 6);
    header.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([header, query.subarray(12, end + 4), ...records]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    async close() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function questionOf(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

/** Builds an answer to the question, which must not be cached. */
function recordOf(address: string): Buffer {
  const isIPv6 = isIP(address) === 6;
  const bytes = isIPv6 ? bytesOf(address) : address.split('.').map(Number);
  return Buffer.from([0xc0, 12, 0, isIPv6 ? 28 : 1, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]);
}

function bytesOf(address: string): number[] {
  const [front = [], back = []] = address.split('::').map(part => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - front.length - back.length).fill('0');
  return [...front, ...zeros, ...back].flatMap(group => {
    const number = Number.parseInt(group, 16);
    return [number >> 8, number & 255];
  });
}
