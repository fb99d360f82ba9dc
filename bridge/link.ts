/**
 * A connection to one device. After any call that the device did not answer it is closed, unless the call was
 * `optional`: for what a device may as well not have.
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
  /** All characteristics, by service. */
  offers(): Promise<Offer[]>;
  /** Rejects also for an empty value: that is how the libraries report a refusal. */
  read(service: string, characteristic: string, options?: CallOptions): Promise<Buffer>;
  /** `response`: wait for the device to confirm it. */
  write(
    service: string,
    characteristic: string,
    bytes: Uint8Array,
    options: CallOptions & { response: boolean },
  ): Promise<void>;
  /** Notifications until the link closes. */
  subscribe(
    service: string,
    characteristic: string,
    onData: (data: Buffer) => void,
    options?: CallOptions,
  ): Promise<void>;
  /** Finds out whether the device is still there, by reading this, where it has it; closes the link when it is not. */
  probe(service: string, characteristic: string): Promise<void>;
  /** Strength of what is received, in dBm; null: the adapter does not tell. */
  signal(): Promise<number | null>;
  /** Can the adapter send long packets? See `Adapter`. */
  readonly hasDataLength: boolean | null;
  /** Resolves with the reason, in words, when the link is gone. */
  readonly closed: Promise<string>;
  /** Resolves when the link is gone. */
  disconnect(): Promise<void>;
}

/** A characteristic, and what can be done with it; UUIDs without dashes. */
export interface Offer {
  service: string;
  characteristic: string;
  properties: readonly string[];
}

export interface CallOptions {
  /** A failure does not cost the link. */
  optional?: boolean;
}
