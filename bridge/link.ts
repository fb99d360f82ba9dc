/**
 * A connection to one device. It is closed after any call that the device does not answer, unless the call is `optional`: for
 * features that a device may lack.
 */
export interface Link {
  readonly id: string;
  readonly name: string;
  /** Agreed ATT MTU; a notification holds three bytes less. */
  readonly mtu: number;
  /**
   * Returns the properties of a characteristic; empty: the device does not have it. Rejects when the device does not
   * answer.
   */
  properties(service: string, characteristic: string, options?: CallOptions): Promise<readonly string[]>;
  /** Lists all characteristics, by service. */
  offers(): Promise<Offer[]>;
  /** Also rejects for an empty value, which is how the libraries report a refusal. */
  read(service: string, characteristic: string, options?: CallOptions): Promise<Buffer>;
  /** `response`: wait for the device to confirm it. */
  write(
    service: string,
    characteristic: string,
    bytes: Uint8Array,
    options: CallOptions & { response: boolean },
  ): Promise<void>;
  /** Subscribes to notifications until the link closes. */
  subscribe(
    service: string,
    characteristic: string,
    onData: (data: Buffer) => void,
    options?: CallOptions,
  ): Promise<void>;
  /** Checks whether the device still answers, by reading this characteristic if it has it; closes the link if it does not. */
  probe(service: string, characteristic: string): Promise<void>;
  /** Returns the signal strength in dBm; null: the adapter does not report it. */
  signal(): Promise<number | null>;
  /** Whether the adapter supports long packets; see `Adapter`. */
  readonly hasDataLength: boolean | null;
  /** Resolves with the reason, in words, when the link is gone. */
  readonly closed: Promise<string>;
  /** Resolves when the link is gone. */
  disconnect(): Promise<void>;
}

/** A characteristic and its properties; UUIDs without dashes. */
export interface Offer {
  service: string;
  characteristic: string;
  properties: readonly string[];
}

export interface CallOptions {
  /** Whether the link stays open after a failure. */
  optional?: boolean;
}
