import type { Clock } from '../clock.ts';
import { placeOf, type TraceEvent } from '../conformance/trace.ts';
import type { Link } from '../link.ts';

/** Maximum number of recorded events: an hour of audio. */
const MAX_EVENTS = 400_000;

/** Traffic of a link, in the form of a trace. */
export interface Tap {
  link: Link;
  readonly events: readonly TraceEvent[];
  /** Properties of each characteristic that was examined. */
  readonly characteristics: Readonly<Record<string, string[]>>;
}

/** Records the traffic of a link, without device names and addresses. */
export function tap(link: Link, clock: Clock): Tap {
  const startMs = clock.now();
  const events: TraceEvent[] = [];
  const characteristics: Record<string, string[]> = {};
  const place = (service: string, characteristic: string) => placeOf({ service, characteristic });
  const note = (event: (t: number) => TraceEvent) => {
    if (events.length < MAX_EVENTS) events.push(event(Math.max(0, clock.now() - startMs)));
  };
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

  const tapped: Link = Object.create(link, {
    properties: {
      async value(...[service, uuid, options]: Parameters<Link['properties']>) {
        const properties = await link.properties(service, uuid, options);
        if (properties.length > 0) characteristics[place(service, uuid)] = [...properties];
        return properties;
      },
    },
    read: {
      async value(...[service, uuid, options]: Parameters<Link['read']>) {
        const value = await link.read(service, uuid, options);
        characteristics[place(service, uuid)] ??= ['read'];
        note(t => ({ t, read: place(service, uuid), value: hex(value) }));
        return value;
      },
    },
    write: {
      async value(...[service, uuid, bytes, options]: Parameters<Link['write']>) {
        note(t => ({ t, write: place(service, uuid), value: hex(bytes) }));
        await link.write(service, uuid, bytes, options);
      },
    },
    subscribe: {
      async value(...[service, uuid, onData, options]: Parameters<Link['subscribe']>) {
        const heard = (data: Buffer) => {
          note(t => ({ t, notify: place(service, uuid), value: hex(data) }));
          onData(data);
        };
        await link.subscribe(service, uuid, heard, options);
        characteristics[place(service, uuid)] ??= ['notify'];
      },
    },
  });
  return { link: tapped, events, characteristics };
}
