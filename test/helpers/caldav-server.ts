import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { Clock } from '../../core/contract/model.ts';
import { createOutbound } from '../../core/delivery/outbound.ts';
import { AppError, type ErrorCode } from '../../core/runtime/errors.ts';
import caldav from '../../plugins/calendar/caldav/index.ts';

const XML = 'application/xml; charset=utf-8';
const HOME = '/calendars/ada/';
const CALENDAR = `${HOME}plans/`;

export interface CaldavServer {
  url: string;
  /** Entries by path. */
  entries: Map<string, string>;
  requests: string[];
  /** Runs before each request is answered. */
  before: (method: string, path: string) => void;
  close(): Promise<void>;
}

/** A small CalDAV server (RFC 4791) on a real socket: discovery, one calendar, PROPFIND, REPORT, and ETags with If-Match. */
export async function openCaldavServer({
  components = ['VEVENT', 'VTODO'],
  name = 'Plans',
} = {}): Promise<CaldavServer> {
  const entries = new Map<string, string>();
  const requests: string[] = [];
  const etagOf = (text: string) => `"${createHash('sha256').update(text).digest('hex').slice(0, 16)}"`;

  function answerOf(
    request: IncomingMessage,
    body: string,
  ): { status: number; text?: string; headers?: object } {
    const { method = '', url: path = '' } = request;
    const given = Buffer.from(
      (request.headers.authorization ?? '').replace('Basic ', ''),
      'base64',
    ).toString();
    if (given !== 'ada:secret')
      return { status: 401, headers: { 'www-authenticate': 'Basic realm="plans"' } };
    if (path === '/.well-known/caldav') return { status: 301, headers: { location: '/' } };
    if (method === 'PROPFIND') return propfind(path, body);
    if (method === 'REPORT') return report(body);
    if (method === 'PUT') return put(request, path, body);
    if (method === 'DELETE') return remove(request, path);
    return { status: 405 };
  }

  function propfind(path: string, body: string) {
    if (path === HOME)
      return multistatus([[HOME, '<d:resourcetype><d:collection/></d:resourcetype>'], calendar()]);
    if (path === CALENDAR && body.includes('getetag'))
      return multistatus([
        [CALENDAR, '<d:getetag>"c"</d:getetag>'],
        ...[...entries].map(([file, text]): [string, string] => [
          file,
          `<d:getetag>${xml(etagOf(text))}</d:getetag>`,
        ]),
      ]);
    if (path === CALENDAR) return multistatus([calendar()]);
    return multistatus([
      [
        path,
        `<d:current-user-principal><d:href>/principals/ada/</d:href></d:current-user-principal>
         <c:calendar-home-set><d:href>${HOME}</d:href></c:calendar-home-set>`,
      ],
    ]);
  }

  function calendar(): [string, string] {
    const comps = components.map(name => `<c:comp name="${name}"/>`).join('');
    return [
      CALENDAR,
      `<d:displayname>${xml(name)}</d:displayname><d:resourcetype><d:collection/><c:calendar/></d:resourcetype>
       <c:supported-calendar-component-set>${comps}</c:supported-calendar-component-set>
       <d:supported-report-set><d:supported-report><d:report><c:calendar-multiget/></d:report></d:supported-report></d:supported-report-set>`,
    ];
  }

  function report(body: string) {
    const wanted = [...body.matchAll(/<d:href>([^<]+)<\/d:href>/g)].map(([, href = '']) => decodeURI(href));
    return multistatus(
      wanted.flatMap((file): [string, string][] => {
        const text = entries.get(file);
        return text === undefined
          ? []
          : [
              [
                file,
                `<d:getetag>${xml(etagOf(text))}</d:getetag><c:calendar-data>${xml(text)}</c:calendar-data>`,
              ],
            ];
      }),
    );
  }

  function put({ headers }: IncomingMessage, path: string, body: string) {
    const before = entries.get(path);
    const file = decodeURI(path);
    if (headers['if-none-match'] === '*' && before !== undefined) return { status: 412 };
    const match = headers['if-match'];
    if (match !== undefined && (before === undefined || etagOf(before) !== match)) return { status: 412 };
    const uid = /^UID:(.*)$/m.exec(body)?.[1];
    const isTwice = [...entries].some(
      ([other, text]) => other !== file && /^UID:(.*)$/m.exec(text)?.[1] === uid,
    );
    if (isTwice) return { status: 409 };
    if (!body.startsWith('BEGIN:VCALENDAR') || body.includes('METHOD:')) return { status: 400 };
    entries.set(file, body);
    return { status: before === undefined ? 201 : 204, headers: { etag: etagOf(body) } };
  }

  function remove({ headers }: IncomingMessage, path: string) {
    const before = entries.get(path);
    if (before === undefined) return { status: 404 };
    const match = headers['if-match'];
    if (match !== undefined && etagOf(before) !== match) return { status: 412 };
    entries.delete(path);
    return { status: 204 };
  }

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    request.on('data', part => parts.push(part));
    request.on('end', () => {
      opened.before(request.method ?? '', request.url ?? '');
      requests.push(`${request.method} ${request.url}`);
      const { status, text = '', headers = {} } = answerOf(request, Buffer.concat(parts).toString());
      response.writeHead(status, { ...(text && { 'content-type': XML }), ...headers }).end(text);
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const opened: CaldavServer = {
    ...{ url: `http://127.0.0.1:${port}/`, entries, requests, before: () => {} },
    close: () => new Promise(resolve => server.close(() => resolve())),
  };
  return opened;
}

function multistatus(answers: [href: string, props: string][]) {
  const responses = answers.map(
    ([href, props]) =>
      `<d:response><d:href>${href}</d:href><d:propstat><d:prop>${props}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`,
  );
  const text = `<?xml version="1.0" encoding="utf-8"?><d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">${responses.join('')}</d:multistatus>`;
  return { status: 207, text };
}

function xml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\r', '&#13;');
}

/** The real plugin, allowed to reach this machine. */
export function caldavOutlet(t: Pick<ExecutionContext, 'teardown'>, clock: Clock) {
  const outbound = createOutbound({ allowHosts: ['127.0.0.1'], clock });
  t.teardown(outbound.close);
  const error = (code: ErrorCode, message: string, options?: object) => new AppError(code, message, options);
  const { calendar } = caldav.setup({ fetchUser: outbound.fetchUser, error });
  return { name: 'caldav', outlet: calendar, checkUrl: outbound.check };
}
